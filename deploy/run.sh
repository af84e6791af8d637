#!/bin/bash
# deploy/run.sh (make run): from a clone to a serving Lockstock with demo products. Ctrl-C or TERM ends what this started:
# the service first, then those servers that were not running before. LOCKSTOCK_* settings go through to the service.
set -euo pipefail
cd "$(dirname "$0")/.."
listen=${LOCKSTOCK_LISTEN:-127.0.0.1:8080}
base=http://$listen
home=${DEV_HOME:-.dev}
ready_seconds_max=30
stop_seconds_max=15 # the drain takes 10 at most
service=
were_running=

say() { echo "run: $*"; }
fail() {
    echo "run: $*" >&2
    exit 1
}

check_port() {
    local host=${listen%:*} port=${listen##*:}
    [[ $port =~ ^[0-9]+$ ]] || fail "LOCKSTOCK_LISTEN='$listen' is not ADDRESS:PORT"
    [[ $host != 0.0.0.0 ]] || { host=127.0.0.1 && base=http://$host:$port; }
    if (exec 3<>"/dev/tcp/${host//[\[\]]/}/$port") 2>/dev/null; then
        fail "$listen is taken; stop what listens there, or choose another: LOCKSTOCK_LISTEN=127.0.0.1:8081 make run"
    fi
}

stop_service() {
    [[ -n $service ]] && kill -0 "$service" 2>/dev/null || return 0
    kill -TERM "$service"
    local until=$((SECONDS + stop_seconds_max))
    while kill -0 "$service" 2>/dev/null; do
        if ((SECONDS >= until)); then
            say "the service did not end within $stop_seconds_max s: killed"
            kill -KILL "$service"
            break
        fi
        sleep 0.1
    done
    say "service stopped"
}

stop_all() {
    trap '' INT TERM HUP
    stop_service
    local name
    for name in $(deploy/dev.sh running); do
        [[ " $were_running " == *" $name "* ]] || deploy/dev.sh down "$name"
    done
}

show_log_and_fail() {
    tail -n 15 "$home/lockstock.log" >&2
    fail "$1 (its log: $home/lockstock.log)"
}

start_service() {
    # Its own session: Ctrl-C in the terminal reaches this script alone, which then stops things in their order.
    # Webhooks can be tried out: the default of the service sends to none.
    LOCKSTOCK_SINKS=${LOCKSTOCK_SINKS-redis-stream,webhook} LOCKSTOCK_LISTEN=$listen setsid build/lockstock serve >"$home/lockstock.log" 2>&1 </dev/null &
    service=$!
    local until=$((SECONDS + ready_seconds_max))
    until curl -fsS -o /dev/null "$base/readyz" 2>/dev/null; do
        kill -0 "$service" 2>/dev/null || show_log_and_fail "the service ended at its start"
        ((SECONDS < until)) || show_log_and_fail "the service is not ready after $ready_seconds_max s"
        sleep 0.1
    done
}

# A product that exists is left alone: PUT would change its name and price, and its stock is somebody's by now.
seed() {
    local id name price stock status
    while read -r id name price stock; do
        status=$(curl -sS -o /dev/null -w '%{http_code}' "$base/v1/products/$id")
        case $status in
        200) ;;
        404) curl -fsS -o /dev/null -X PUT "$base/v1/products/$id" -H 'Content-Type: application/json' \
            -d "{\"name\":\"$name\",\"price\":$price,\"stock\":$stock}" || fail "product $id could not be made" ;;
        401 | 403)
            say "no demo products: the service asks for a token"
            return
            ;;
        *) fail "GET /v1/products/$id answered $status" ;;
        esac
    done <<'PRODUCTS'
1 Kettle 3900 1000
2 Teapot 5400 500
3 Cup 800 5000
PRODUCTS
}

check_port
deploy/packages.sh build servers
deploy/build.sh release lockstock

were_running=$(deploy/dev.sh running | tr '\n' ' ')
trap stop_all EXIT
trap 'exit 0' INT TERM HUP
deploy/dev.sh up
# shellcheck source=/dev/null
source "$home/env"
build/lockstock migrate
start_service
seed
say "serving on $base (pid $service, log $home/lockstock.log). Try:"
echo
sed "s|^at=.*|at=$base|" deploy/tour.sh | tee "$home/tour.sh"
echo
say "Ctrl-C stops it"
wait "$service" || show_log_and_fail "the service ended by itself with status $?"
