#!/bin/bash
# tests/trixie.sh [PART] : the tests on the other Debian, in a chroot made by debootstrap (root needed; kept in
# build/trixie for the next time). What is tested is the committed state.
set -euo pipefail
cd "$(dirname "$0")/.."
part=${1:-all}
suite=trixie
root=$PWD/build/$suite

((EUID == 0)) || { echo "trixie: a chroot needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || apt-get install -qq -y --no-install-recommends debootstrap
[[ -e $root/etc/debian_version ]] || debootstrap --variant=minbase $suite "$root" >"$root.log" 2>&1 ||
    { tail "$root.log" >&2; exit 1; }

leave() { umount -q "$root/proc" "$root/dev" || true; }
trap leave EXIT
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
mkdir -p "$root/src/lockstock"
git archive HEAD | tar -x -C "$root/src/lockstock"
chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 CI=true \
    bash -c "apt-get -qq update && apt-get -qq -y install --no-install-recommends make >/dev/null && cd /src/lockstock && make test PART=$part"
