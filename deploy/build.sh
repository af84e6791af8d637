#!/bin/bash
# deploy/build.sh PRESET [TARGET…] : configures (CMakePresets.json) and builds, with a few lines of output.
# The release preset builds into build/, every other one into build/<preset>.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
dir=build/$preset
[[ $preset == release ]] && dir=build
mkdir -p "$dir"
werror=OFF
[[ -n ${CI:-} ]] && werror=ON

started=$SECONDS
if ! cmake --preset "$preset" -DLOCKSTOCK_WERROR=$werror >"$dir/configure.log" 2>&1; then
    cat "$dir/configure.log" >&2
    echo "build: configuring $preset failed" >&2
    exit 1
fi
targets=()
(($# == 0)) || targets=(--target "$@")
if ! cmake --build --preset "$preset" "${targets[@]}" >"$dir/build.log" 2>&1; then
    tail -n 60 "$dir/build.log" >&2
    echo "build: $preset failed (all of it: $dir/build.log)" >&2
    exit 1
fi
grep -A6 'warning:' "$dir/build.log" >&2 || true
echo "build: $preset in $dir, $((SECONDS - started)) s"
