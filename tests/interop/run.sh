#!/bin/bash
# tests/interop/run.sh [--build | TEST…] (make test-interop): builds the peers and runs tests/interop/test_*.py, or the
# tests named (test_redisson.Redisson4RLock), against real jars of Redisson and ShedLock, node-redisson, a Kafka broker
# and this tree's service, on private servers. --build only builds the peers.
#   LOCKSTOCK_BIN   another binary than build/lockstock
# The libraries are those of tests/interop/versions, tests/interop/java/pom.xml, tests/interop/kafka/pom.xml and tests/interop/node/package-lock.json. The first run fetches them
# with mvn and npm; later ones, and those on a machine whose caches have them, need no network. All that is made lies in
# build/interop. The last line tells how many tests ran; the exit status is 0 only when none failed, and 75 when none ran
# because a library could not be fetched: that says nothing of this tree.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
here=tests/interop
out=$PWD/build/interop
log=$out/build.log
mkdir -p "$out"

stop() {
    echo "interop: $*" >&2
    exit 1
}

# What was to be fetched could not be: that is no word about this tree.
not_run() {
    echo "interop: NOT RUN: $*; nothing was tested" >&2
    exit 75
}

# Another distribution of the tools than Debian's serves as well.
tools() {
    local tool
    for tool in javac mvn node npm; do
        command -v "$tool" >/dev/null || deploy/packages.sh interop || not_run "Java, Maven or Node is missing"
    done
}

# is_made FOLDER STAMP SOURCES… : what lies there was made of these sources, in this version.
is_made() {
    [[ $(cat "$1/made" 2>/dev/null) == "$2" && -z $(find "${@:3}" -newer "$1/made" -print -quit) ]]
}

# What mvn and npm say when they got no answer, or not a library.
NO_ANSWER='Could not (resolve|transfer|find artifact)|No plugin found for prefix|could not be resolved|Unknown host|Connection (refused|reset|timed out)|timed out|npm (error|ERR!) (network|code E(NOTFOUND|AI_AGAIN|CONN|TIMEDOUT|[45][0-9][0-9]))'
FETCH_TRIES=3
FETCH_S=600 # of one try

# First from the caches alone: a registry that is away, or slow, must not matter to who has everything.
in_or_online() {
    local try
    "$@" --offline >"$log" 2>&1 && return
    for ((try = 1; try <= FETCH_TRIES; try++)); do
        timeout "$FETCH_S" "$@" >"$log" 2>&1 && return
        (($? == 124)) || grep -qE "$NO_ANSWER" "$log" || break
        echo "interop: $1 got no answer, try $try of $FETCH_TRIES" >&2
    done
    tail -n 30 "$log" >&2
    ((try > FETCH_TRIES)) || stop "$1 failed (all of it: $log)"
    not_run "$1 could not fetch a library (all of it: $log)"
}

java_peer() {
    local folder=$out/$1 version=$2
    is_made "$folder" "$version" "$here/java" && return
    echo "interop: building the Java peer with Redisson $version"
    rm -rf "$folder"
    in_or_online mvn -B -q -f "$here/java/pom.xml" -Dredisson.version="$version" -Dpeer.folder="$folder" \
        compile dependency:copy-dependencies
    echo "$version" >"$folder/made"
}

broker() {
    local folder=$out/kafka
    is_made "$folder" kafka "$here/kafka" && return
    echo "interop: fetching a Kafka broker"
    rm -rf "$folder"
    in_or_online mvn -B -q -f "$here/kafka/pom.xml" -Dbroker.folder="$folder" dependency:copy-dependencies
    echo kafka >"$folder/made"
}

node_peer() {
    local folder=$out/node
    is_made "$folder" node "$here/node" && return
    echo "interop: building the Node peer"
    rm -rf "$folder"
    cp -r "$here/node" "$folder"
    in_or_online npm --prefix "$folder" ci
    echo node >"$folder/made"
}

service() {
    deploy/packages.sh servers test || stop "packages are missing"
    [[ -z ${LOCKSTOCK_BIN:-} ]] || return 0
    deploy/packages.sh build || stop "packages are missing"
    deploy/build.sh release lockstock lockstock-faults kafka_tail || stop "the build failed"
}

number() { { grep -oP "$1\K[0-9]+" "$out/test.log" || echo 0; } | tail -n 1; }

started=$SECONDS
tools
while read -r name version; do
    java_peer "$name" "$version" </dev/null
done <"$here/versions"
node_peer
broker
[[ ${1:-} != --build ]] || exit 0
service
if (($#)); then
    what=(-v "$@")
else
    what=(discover -v -s . -p 'test_*.py')
fi
(cd "$here" && exec timeout 1800 /usr/bin/python3 -m unittest "${what[@]}") 2>&1 | tee "$out/test.log"
status=${PIPESTATUS[0]}
all=$(number '^Ran ')
bad=$(($(number '^FAILED.*failures=') + $(number '^FAILED.*errors=')))
((status == 0 || bad > 0)) || bad=1
skipped=$(number '^(?:OK|FAILED).*skipped=')
good=$((all - bad - skipped))
((good >= 0)) || good=0
echo "test: interop: $((SECONDS - started)) s"
echo "tests: $good passed, $bad failed, $skipped skipped"
((bad == 0 && good > 0))
