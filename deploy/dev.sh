#!/bin/bash
# deploy/dev.sh up | down [mariadb redis] | running : a private MariaDB and Redis for development, under .dev/.
# DEV_HOME names another folder (the tests' own).
# - Loopback only, free ports below 32768 that are kept from start to start; data is kept; nobody else's server is touched.
# - Durability as in production: innodb_flush_log_at_trx_commit=1, noeviction, appendonly.
# - LOCKSTOCK_MYSQL_URL / LOCKSTOCK_REDIS_URL set from outside: that server is used, and none is started in its place.
# - .dev/env holds the two URLs to source. .dev/ is readable by its owner only: it holds the database's password.
set -euo pipefail
cd "$(dirname "$0")/.."
home=$(realpath -m "${DEV_HOME:-.dev}")
umask 077
start_seconds_max=60
stop_seconds_max=60

say() { echo "dev: $*"; }
fail() {
    echo "dev: $*" >&2
    exit 1
}

# The pid in the file, when that process is ours: its command line names our folder. A stale file never hits a stranger.
pid_of() {
    local pid
    pid=$(cat "$home/$1/pid" 2>/dev/null) && [[ $pid =~ ^[0-9]+$ ]] || return 1
    [[ -r /proc/$pid/cmdline ]] || return 1
    { tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF -e "$home/$1" -e redis-server -e valkey-server || return 1
    [[ $(readlink "/proc/$pid/cwd" 2>/dev/null) == "$home/$1"* ]] || return 1
    echo "$pid"
}

is_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# port_of NAME FIRST : the port of last time when it is free, else the first free one from FIRST on.
port_of() {
    local port last
    last=$(cat "$home/$1/port" 2>/dev/null || echo "$2")
    for port in "$last" $(seq "$2" $(($2 + 200))); do
        if ! is_taken "$port"; then
            echo "$port" >"$home/$1/port"
            echo "$port"
            return
        fi
    done
    fail "no free port from $2 on"
}

# wait_until SECONDS COMMAND… : polls until the command succeeds.
wait_until() {
    local until=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < until)) || return 1
        sleep 0.1
    done
}

mariadb_answers() {
    [[ -n $(pid_of mariadb) ]] || return 1
    MYSQL_PWD=$(<"$home/mariadb/password") mariadb --no-defaults -h127.0.0.1 -P"$(<"$home/mariadb/port")" -ulockstock \
        -e 'SELECT 1' lockstock
}

mariadb_install() {
    local log=$home/mariadb/install.log
    rm -rf "$home/mariadb/data"
    mariadb-install-db --no-defaults --datadir="$home/mariadb/data" --auth-root-authentication-method=normal \
        --skip-test-db "${mariadb_user[@]}" >"$log" 2>&1 || { tail "$log" >&2 && fail "MariaDB could not be set up ($log)"; }
    touch "$home/mariadb/installed"
}

# The database and its user are made by the server itself at each start, so no root login is ever needed.
mariadb_init_file() {
    local password=$1
    cat <<SQL
CREATE DATABASE IF NOT EXISTS lockstock CHARACTER SET utf8mb4;
CREATE USER IF NOT EXISTS 'lockstock'@'127.0.0.1' IDENTIFIED BY '$password';
ALTER USER 'lockstock'@'127.0.0.1' IDENTIFIED BY '$password';
GRANT ALL ON lockstock.* TO 'lockstock'@'127.0.0.1';
ALTER USER 'root'@'localhost' IDENTIFIED BY '$password';
SQL
}

mariadb_start() {
    command -v mariadbd >/dev/null || fail "mariadbd is not installed (deploy/packages.sh servers)"
    mkdir -p "$home/mariadb"
    mariadb_user=()
    ((EUID != 0)) || mariadb_user=(--user=root)
    [[ -e $home/mariadb/installed ]] || mariadb_install
    [[ -s $home/mariadb/password ]] || od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$home/mariadb/password"
    mariadb_init_file "$(<"$home/mariadb/password")" >"$home/mariadb/init.sql"
    local port
    port=$(port_of mariadb 21306)
    # A relative socket lies in the data folder, however long its path is.
    (cd "$home/mariadb" && exec setsid mariadbd --no-defaults --datadir="$home/mariadb/data" "${mariadb_user[@]}" \
        --bind-address=127.0.0.1 --port="$port" --socket=mariadb.sock --pid-file="$home/mariadb/pid" \
        --init-file="$home/mariadb/init.sql" --skip-name-resolve --character-set-server=utf8mb4 \
        --innodb-flush-log-at-trx-commit=1 --innodb-buffer-pool-size=256M --innodb-log-file-size=256M \
        --max-connections=300 >"$home/mariadb/log" 2>&1 </dev/null) &
    wait_until $start_seconds_max mariadb_answers || {
        tail -n 15 "$home/mariadb/log" >&2
        fail "MariaDB does not answer ($home/mariadb/log)"
    }
}

# Debian has both; Valkey does for Redis.
redis_program() { command -v "redis-$1" || command -v "valkey-$1" || fail "redis-$1 is not installed (deploy/packages.sh servers)"; }

redis_answers() {
    [[ -n $(pid_of redis) ]] && [[ $("$(redis_program cli)" -h 127.0.0.1 -p "$(<"$home/redis/port")" ping) == PONG ]]
}

redis_start() {
    local port program
    program=$(redis_program server)
    mkdir -p "$home/redis/data"
    port=$(port_of redis 21379)
    (cd "$home/redis" && exec setsid "$program" --bind 127.0.0.1 --port "$port" --dir "$home/redis/data" \
        --pidfile "$home/redis/pid" --daemonize no --appendonly yes --save '' --maxmemory-policy noeviction \
        >"$home/redis/log" 2>&1 </dev/null) &
    wait_until $start_seconds_max redis_answers || {
        tail -n 15 "$home/redis/log" >&2
        fail "Redis does not answer ($home/redis/log)"
    }
}

is_gone() { ! pid_of "$1" >/dev/null; }

stop() {
    local pid
    pid=$(pid_of "$1") || return 0
    kill "$pid"
    wait_until $stop_seconds_max is_gone "$1" || fail "$1 (pid $pid) does not stop"
    say "$1 stopped"
}

start() {
    local how=running
    if ! pid_of "$1" >/dev/null; then
        "$1_start"
        how=started
    fi
    say "$1 $how on 127.0.0.1:$(<"$home/$1/port")"
}

up() {
    mkdir -p "$home" # for its owner alone: umask
    : >"$home/env.new"
    if [[ -z ${LOCKSTOCK_MYSQL_URL:-} ]]; then
        start mariadb
        echo "export LOCKSTOCK_MYSQL_URL='mysql://lockstock:$(<"$home/mariadb/password")@127.0.0.1:$(<"$home/mariadb/port")/lockstock'" \
            >>"$home/env.new"
    fi
    if [[ -z ${LOCKSTOCK_REDIS_URL+set} ]]; then
        start redis
        echo "export LOCKSTOCK_REDIS_URL='redis://127.0.0.1:$(<"$home/redis/port")'" >>"$home/env.new"
    fi
    mv "$home/env.new" "$home/env"
}

case ${1:-} in
up)
    up
    say "addresses in ${home#"$PWD"/}/env"
    ;;
down)
    shift
    for server in "${@:-mariadb redis}"; do
        for name in $server; do stop "$name"; done
    done
    ;;
running)
    for name in mariadb redis; do
        if pid_of $name >/dev/null; then echo $name; fi
    done
    ;;
*)
    echo "usage: deploy/dev.sh up | down [mariadb redis] | running" >&2
    exit 2
    ;;
esac
