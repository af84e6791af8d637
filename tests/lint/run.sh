#!/bin/bash
# tests/lint/run.sh : every check that reads the source without running it. One line a check; its log when it fails.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
mkdir -p build/lint
passed=0
failed=0
skipped=0

# step NAME COMMAND… : the last line of a failure's log is what to look at first, so the log's tail is shown.
step() {
    local name=$1 log=build/lint/$1.log started=$SECONDS
    shift
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "lint: $name ok ($((SECONDS - started)) s)"
    else
        failed=$((failed + 1))
        tail -n 60 "$log"
        echo "lint: $name FAILED"
    fi
}

skip() {
    skipped=$((skipped + 1))
    echo "lint: $1 skipped: $2"
}

c_files() { find service tests -name '*.[ch]' -print0; }

# Newer versions lay out some lines differently; one version decides, or nobody could satisfy all.
format() { c_files | xargs -0 -r clang-format --dry-run -Werror; }

# Configured with clang, or the compiler's own warning flags are strangers to it.
tidy() {
    find service -name '*.c' -print0 | xargs -0 -r -n4 -P2 clang-tidy -p build/clang --quiet --warnings-as-errors='*'
}

# tour.sh is text to be shown and pasted, in its short form on purpose.
shell() { find deploy tests .ci -type f \( -name '*.sh' -o -path .ci/run \) ! -name tour.sh -print0 | xargs -0 shellcheck -x; }

step checkers /usr/bin/python3 -m unittest discover -s tests/lint -p 'test_*.py'
step includes /usr/bin/python3 tests/lint/check_includes.py
step banned /usr/bin/python3 tests/lint/check_banned.py
step shape /usr/bin/python3 tests/lint/check_shape.py
step links /usr/bin/python3 tests/lint/check_links.py
step shell shell
if clang-format --version | grep -q 'version 14\.'; then
    step format format
else
    skip format "$(clang-format --version); version 14 (Debian 12) decides"
fi
step clang deploy/build.sh clang
step tidy tidy
step analyzer deploy/build.sh analyzer
echo "lint: $passed passed, $failed failed, $skipped skipped"
((failed == 0))
