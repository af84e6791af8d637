#!/bin/bash
# deploy/packages.sh GROUP… : installs the Debian packages of the groups that are missing; silent when none is.
# Groups: build, servers, test, lint, bench, valkey, interop. Works on Debian 12 and 13, as root or with sudo.
# LOCKSTOCK_DATABASE=mysql: MySQL's own server and client library instead of MariaDB's, where the distribution has them.
# No server that a package brings is started: the private ones under .dev/ are ours to start.
set -euo pipefail

client=default-libmysqlclient-dev
database=mariadb-server
if [[ ${LOCKSTOCK_DATABASE:-mariadb} == mysql ]]; then
    client=libmysqlclient-dev
    database=mysql-server-core
fi

# A Node that did not come as Debian's package brings its own npm, and excludes Debian's.
node="nodejs npm"
if command -v node npm >/dev/null; then node=; fi

packages_of() {
    case $1 in
    build) echo gcc libc6-dev cmake ninja-build pkgconf libuv1-dev libmicrohttpd-dev libhiredis-dev libjansson-dev \
        libssl-dev libcurl4-openssl-dev librdkafka-dev "$client" libcmocka-dev ;;
    servers) echo "$database" redis-server curl ;;
    test) echo python3 python3-pymysql python3-yaml openssl curl iproute2 ;;
    lint) echo clang clang-format clang-tidy shellcheck python3 python3-yaml ;;
    interop) echo default-jdk-headless maven "$node" ;;
    valkey) echo valkey-server ;;
    bench) echo wrk python3 python3-pymysql etcd-server ;;
    *)
        echo "packages: no group '$1'" >&2
        exit 2
        ;;
    esac
}

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

missing=()
for group in "$@"; do
    for package in $(packages_of "$group"); do
        is_installed "$package" || missing+=("$package")
    done
done
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
    command -v sudo >/dev/null || {
        echo "packages: missing: ${missing[*]}; install them as root, or install sudo" >&2
        exit 1
    }
    as_root=(sudo)
fi

# invoke-rc.d asks this file before it starts a service; 101 = forbidden. Ours goes again, one that was there stays.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
    # shellcheck disable=SC2064
    trap "${as_root[*]} rm -f $policy" EXIT
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
    "${as_root[@]}" chmod 755 $policy
fi

echo "packages: installing ${missing[*]}"
log=$(mktemp)
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1; }
if ! { apt update && apt install --no-install-recommends -y "${missing[@]}"; }; then
    tail -n 30 "$log" >&2
    echo "packages: the installation failed (all of it: $log)" >&2
    exit 1
fi
rm -f "$log"
