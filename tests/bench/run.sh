#!/bin/bash
# tests/bench/run.sh [options of bench.py] (make bench): builds the service and the bench's tools as they are shipped
# (release preset), then measures. --quick is a smoke test: one short run, no verdict on the ratios.
# LOCKSTOCK_BENCH_BIN names a folder with lockstock and bench_* that is used instead of a build.
set -euo pipefail
cd "$(dirname "$0")/../.."
deploy/packages.sh servers bench
if [[ -z ${LOCKSTOCK_BENCH_BIN:-} ]]; then
    deploy/packages.sh build
    deploy/build.sh release lockstock bench_load bench_seed_way bench_bare_loop
fi
# The row of Redisson needs Java and its libraries; where they cannot be had the row is left out.
if [[ " $* " != *" --quick "* ]] && command -v mvn >/dev/null; then
    tests/interop/run.sh --build || echo "bench: without the row of Redisson" >&2
fi
exec /usr/bin/python3 tests/bench/bench.py "$@"
