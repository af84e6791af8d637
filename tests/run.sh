#!/bin/bash
# tests/run.sh [all|lint|unit|integration|chaos] (make test PART=…): builds what the part needs and runs it on private
# servers. PRESET chooses the binaries of integration and chaos (release) and of unit (asan).
#   lint         the checkers, formatting, shellcheck, clang-tidy, the clang build, gcc -fanalyzer
#   unit         one cmocka program per source file, under the address, undefined-behaviour and thread sanitizers
#   integration  C against real servers, then tests/integration/test_*.py and tests/contract/test_*.py
#   chaos        tests/chaos/test_*.py: kills, pauses, cuts; LOCKSTOCK_TEST_FULL=1: those of the locks at full length
# The last line tells how many tests ran; the exit status is 0 only when none failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
part=${1:-all}
passed=0
failed=0
skipped=0
logs=build/test
around=()

say() { echo "test: $*"; }
stop() {
    echo "test: $*" >&2
    exit 1
}

count() {
    passed=$((passed + $1))
    failed=$((failed + $2))
    skipped=$((skipped + ${3:-0}))
}

# number LOG PATTERN : the last number that follows PATTERN, or 0.
number() { { grep -oP "$2\K[0-9]+" "$1" || echo 0; } | tail -n 1; }

# One that dies before it can count has failed, whatever the count says.
settle() {
    local status=$1 bad=$2
    ((status == 0 || bad > 0)) || bad=1
    echo "$bad"
}

# What is in `around` runs ctest.
run_ctest() {
    local preset=$1 log=$logs/ctest-$1.log status all bad dir=build/$1
    [[ $preset == release ]] && dir=build
    "${around[@]}" ctest --test-dir "$dir" "${@:2}" --output-on-failure --no-tests=error -j2 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    all=$(number "$log" 'out of ')
    bad=$(settle "$status" "$(number "$log" 'tests passed, ')")
    count $((all > bad ? all - bad : 0)) "$bad"
}

# Tests of time on a loaded machine can miss: up to three that failed are run once more, alone, and named. One that fails twice has failed.
second_try() {
    local folder=$1 log=$2 bad=$3 names
    mapfile -t names < <(grep -oP '^(?:FAIL|ERROR): .*\(\K[\w.]+(?=\))' "$log" | sort -u)
    ((${#names[@]} >= 1 && ${#names[@]} <= 3 && ${#names[@]} >= bad)) || return 1
    say "once more, alone: ${names[*]}"
    (cd "tests/$folder" && timeout 600 /usr/bin/python3 -m unittest -v "${names[@]}") || return 1
    say "UNSTEADY, passed at the second try: ${names[*]}"
}

run_unittest() {
    local folder=$1 log=$logs/$1.log status all bad left_out
    mkdir -p "$(dirname "$log")"
    timeout "${2}" /usr/bin/python3 -m unittest discover -s "tests/$folder" -p 'test_*.py' -v 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    all=$(number "$log" '^Ran ')
    bad=$(($(number "$log" '^FAILED.*failures=') + $(number "$log" '^FAILED.*errors=')))
    bad=$(settle "$status" "$bad")
    if ((bad > 0)) && second_try "$folder" "$log" "$bad"; then bad=0; fi
    left_out=$(number "$log" '^(?:OK|FAILED).*skipped=')
    all=$((all - bad - left_out))
    count $((all > 0 ? all : 0)) "$bad" "$left_out"
}

part_lint() {
    deploy/packages.sh build lint || stop "packages are missing"
    tests/lint/run.sh 2>&1 | tee "$logs/lint.log"
    count "$(number "$logs/lint.log" '^lint: (?=[0-9]+ passed)')" \
        "$(number "$logs/lint.log" '^lint: [0-9]+ passed, ')" "$(number "$logs/lint.log" 'failed, ')"
}

part_unit() {
    local preset
    deploy/packages.sh build || stop "packages are missing"
    for preset in ${PRESET:-asan tsan}; do
        deploy/build.sh "$preset" || stop "the build failed"
        run_ctest "$preset" -LE integration
    done
}

binaries() {
    local preset=${PRESET:-release} dir=$PWD/build
    deploy/packages.sh build servers test || stop "packages are missing"
    deploy/build.sh "$preset" || stop "the build failed"
    [[ $preset == release ]] || dir=$dir/$preset
    case $preset in
    asan) export LOCKSTOCK_TEST_SLOW=${LOCKSTOCK_TEST_SLOW:-3} ;;
    tsan) export LOCKSTOCK_TEST_SLOW=${LOCKSTOCK_TEST_SLOW:-8} ;;
    esac
    export LOCKSTOCK_BIN=$dir/lockstock LOCKSTOCK_FAULTS_BIN=$dir/lockstock-faults
}

part_integration() {
    binaries
    # The C tests of store/ want an empty database: a fresh server of their own, gone afterwards.
    local around=(/usr/bin/python3 -m tests.support.with_database)
    run_ctest "${PRESET:-release}" -L integration
    around+=(--tls)
    run_ctest "${PRESET:-release}" -L integration -R store
    run_unittest integration 1500
    run_unittest contract 600
}

part_chaos() {
    binaries
    run_unittest chaos 1500
}

mkdir -p $logs
started=$SECONDS
case $part in
all) parts=(lint unit integration chaos) ;;
lint | unit | integration | chaos) parts=("$part") ;;
*) stop "no part '$part': all, lint, unit, integration, chaos" ;;
esac
for name in "${parts[@]}"; do
    say "== $name =="
    [[ $name != chaos || -n $(compgen -G 'tests/chaos/test_*.py') ]] || continue
    "part_$name"
done
say "${parts[*]}: $((SECONDS - started)) s"
echo "tests: $passed passed, $failed failed, $skipped skipped"
((failed == 0 && passed > 0))
