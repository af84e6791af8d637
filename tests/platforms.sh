#!/bin/bash
# tests/platforms.sh [trixie] [mysql] [image] (make test-platforms): the committed source where `make test` does not
# reach. Needs root. Made once and kept: one folder a platform, under LOCKSTOCK_PLATFORMS_HOME (.dev/platforms).
#   trixie  Debian 13: gcc 14, libmicrohttpd 1, hiredis 1.2, MariaDB 11.8 and its client library, Redis and Valkey;
#           built with -Werror, unit tests, integration
#   mysql   Debian sid: MySQL's own server and libmysqlclient; the same tests and chaos
#   image   the Dockerfile, built by buildah where there is one, and what it made, run as nobody on a read-only root
# The last line tells how many of the three passed; the exit status is 0 only when all did.
set -euo pipefail
cd "$(dirname "$0")/.."
home=$(realpath -m "${LOCKSTOCK_PLATFORMS_HOME:-.dev/platforms}")
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
left_out=77 # the exit status of a part that this machine cannot run

say() { echo "platforms: $*"; }
fail() {
    echo "platforms: $*" >&2
    exit 1
}

# quietly LOG COMMAND… : its output in a file, the end of it shown when it fails.
quietly() {
    local log=$1
    shift
    "$@" >"$log" 2>&1 || {
        tail -n 30 "$log" >&2
        fail "'${*:1:3} …' failed (all of it: $log)"
    }
}

# make_root NAME SUITE : a Debian in a folder; half of one, left by a run that was cut off, is made again.
make_root() {
    local root=$home/$1
    [[ ! -e $root.made ]] || return 0
    command -v debootstrap >/dev/null || fail "debootstrap is not installed"
    say "debootstrap $2 (once)"
    rm -rf --one-file-system "$root"
    mkdir -p "$home"
    quietly "$root.log" debootstrap --variant=minbase "$2" "$root"
    # A mirror may be a snapshot, whose lists have gone out of date. And nothing that is installed may start.
    echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/90platforms"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    touch "$root.made"
}

# enter NAME COMMAND… : in that root, with mounts and processes of its own: both are gone when the command has ended,
# however it ended. The network is shared; what the tests start draws free loopback ports.
enter() {
    local root=$home/$1
    shift
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
    # shellcheck disable=SC2016
    unshare --mount --propagation private --pid --fork --kill-child bash -c '
        mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" || exit
        exec chroot "$1" env -i PATH="$2" HOME=/root LANG=C.UTF-8 CI=true "${@:3}"' enter "$root" "$path" "$@"
}

lay_source() {
    local source=$home/$1/src/lockstock
    rm -rf "$source"
    mkdir -p "$source"
    git archive HEAD | tar -x -C "$source"
}

part_trixie() {
    make_root trixie trixie
    lay_source trixie
    enter trixie /src/lockstock/tests/platforms.sh in trixie
}

part_mysql() {
    make_root mysql sid
    lay_source mysql
    # The cmocka there deprecates what the older ones know.
    enter mysql LOCKSTOCK_DATABASE=mysql CFLAGS=-Wno-deprecated-declarations /src/lockstock/tests/platforms.sh in mysql
}

# -- inside a root --

all_tests() {
    PRESET=release tests/run.sh unit
    PRESET=release tests/run.sh integration
}

bring_redis_back() { [[ ! -e /usr/bin/redis-server.away ]] || mv /usr/bin/redis-server.away /usr/bin/redis-server; }

in_trixie() {
    bring_redis_back
    all_tests
    deploy/packages.sh valkey
    say "Valkey in the place of Redis"
    mv /usr/bin/redis-server /usr/bin/redis-server.away
    trap bring_redis_back EXIT
    ctest --test-dir build -L integration -R redis --output-on-failure --no-tests=error
    /usr/bin/python3 -m unittest discover -s tests/chaos -p test_redis_away.py
    DEV_HOME=/tmp/dev deploy/dev.sh up
    DEV_HOME=/tmp/dev deploy/dev.sh down
}

in_mysql() {
    all_tests
    ldd build/lockstock | grep libmysqlclient >/dev/null || fail "the service was not built on libmysqlclient"
    # Its binary log doubles what a commit has to wait for, on a disk that others may use.
    LOCKSTOCK_TEST_SLOW=${LOCKSTOCK_TEST_SLOW:-3} PRESET=release tests/run.sh chaos
}

# -- the image --

store() { buildah --root "$home/images" --runroot "$home/images.run" --storage-driver vfs "$@"; }

# The base, under the name that the Dockerfile gives it: no registry is asked.
make_base() {
    local container
    make_root base trixie
    [[ -z $(store images --quiet debian:trixie-slim 2>/dev/null) ]] || return 0
    container=$(store from scratch)
    quietly "$home/base.log" store copy "$container" "$home/base" /
    quietly "$home/base.log" store commit --rm "$container" docker.io/library/debian:trixie-slim
}

# in_image ROOT SCRIPT : as the image's user, on a root that cannot be written.
in_image() {
    # shellcheck disable=SC2016
    unshare --mount --propagation private --pid --fork --kill-child bash -c '
        mount --bind "$1" "$1" && mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" || exit
        mount -o remount,ro,bind "$1" || exit
        exec chroot --userspec=65532:65532 "$1" env -i PATH="$2" sh -euc "$3"' in_image "$1" "$path" "$2"
}

# Without its servers: alive, asked by its own healthcheck (which fails cleanly when nobody listens), ended by SIGTERM.
# shellcheck disable=SC2016
image_script='
    export LOCKSTOCK_LISTEN=127.0.0.1:PORT LOCKSTOCK_ALLOW_ANONYMOUS=1 LOCKSTOCK_REDIS_URL=
    export LOCKSTOCK_MYSQL_URL=mysql://nobody@127.0.0.1:1/nothing
    test "$(id -u):$(id -g)" = 65532:65532
    if touch /tmp/x 2>/dev/null; then echo "the root can be written" >&2; exit 1; fi
    lockstock version
    status=0; lockstock healthcheck || status=$?
    test $status = 1
    timeout --preserve-status 20 lockstock serve & service=$!
    tries=0
    until lockstock healthcheck; do tries=$((tries + 1)); test $tries -lt 100; sleep 0.1; done
    kill -TERM $service
    wait $service'

free_port() {
    local port
    for port in {29000..29200}; do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port" && return; }
    done
    fail "no free port"
}

part_image() {
    local source=$home/image/src/lockstock container root
    if ! command -v buildah >/dev/null; then
        say "no buildah here: the image is left out"
        exit $left_out
    fi
    make_base
    lay_source image
    say "buildah build"
    quietly "$home/image.log" store build --pull-never --isolation chroot --tag lockstock:test "$source"
    [[ $(store inspect --type image --format '{{.OCIv1.Config.User}}' lockstock:test) == 65532:65532 ]] ||
        fail "the image does not name the user 65532"
    container=$(store from --pull-never lockstock:test)
    # shellcheck disable=SC2064
    trap "{ store rm $container; store rmi --prune; } >/dev/null" EXIT # and what the last build left
    root=$(store mount "$container")
    [[ ! -e $root/usr/bin/cc && ! -e $root/usr/bin/cmake ]] || fail "build tools are in the image"
    quietly "$home/image.run.log" in_image "$root" "${image_script/PORT/$(free_port)}"
    say "image: $(du -sm "$root" | cut -f1) MB, $(grep -m1 . "$home/image.run.log")"
}

# -- one after the other, each in a shell of its own that ends at its first failure --

all() {
    local part passed=0 failed=0 skipped=0 status
    ((EUID == 0)) || fail "roots and their mounts are root's to make"
    for part in "$@"; do
        say "== $part =="
        status=0
        tests/platforms.sh part "$part" || status=$?
        case $status in
        0) passed=$((passed + 1)) ;;
        "$left_out") skipped=$((skipped + 1)) ;;
        *) failed=$((failed + 1)) && say "$part FAILED" ;;
        esac
    done
    echo "platforms: $passed passed, $failed failed, $skipped skipped"
    ((failed == 0))
}

case ${1:-} in
'') all trixie mysql image ;;
trixie | mysql | image) all "$@" ;;
part) "part_$2" ;;
in) "in_$2" ;;
*) fail "no part '$1': trixie, mysql, image" ;;
esac
