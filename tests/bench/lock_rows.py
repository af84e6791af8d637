"""Rows about locks: cycles of taking and releasing, one lock for each connection, beside what else could do the same.

rate = cycles per second, p50 and p99 those of a cycle. Each row is a function of the stand that makes one run."""

import json
import os
import secrets
import shutil
import statistics
import subprocess
import time
import urllib.request

from stand import ROOT, Parked, Process, accepts, eventually, free_port, prefer

CONNECTIONS = 64
TTL_MS = 60000
HELD_MANY, WAITING_MANY = 10000, 5000
LINE = 1000
SCRIPTS = os.path.join(ROOT, "service", "redis", "scripts")
TOKEN_NAMES = 10000  # that one holder may have
# Holds the names that redis-benchmark draws from, by the grant of the scripts themselves.
FILL = """
local terms = {holder = 'holder', ttl = tonumber(ARGV[2]), grant = 'g', owner = 'o', metadata = '', kind = 'lock', fenced = ''}
for number = 0, tonumber(ARGV[1]) - 1 do
    local name = string.format('bench/%012d', number)
    if redis.call('EXISTS', name) == 0 then
        grant(name, terms, '1:bench', clock(), {})
    end
end
return 0
"""
NAME = "bench/@c@"
TOKEN = "bench-token-@c@-00000000"


# As embed.cmake puts them together.
PARTS = {"lock_acquire": ("lock_common", "lock_acquire"),
         "lock_release": ("lock_common", "lock_release_one", "rw_common", "fair_common", "lock_release")}


def script(*parts):
    """The sources of these parts, one after the other."""
    text = ""
    for part in parts:
        with open(os.path.join(SCRIPTS, f"{part}.lua"), encoding="utf-8") as source:
            text += source.read()
    return text


def figures(result):
    return {"rate": result["cycleRate"], "p50": result["cycleUs"]["p50"], "p99": result["cycleUs"]["p99"],
            "cores": result["cores"], "driver_us": result["cpuUsPerRequest"]}


def cycles(stand, times, url, steps, beside=None, connections=CONNECTIONS):
    """A run of the driver on these steps; anything but success is a failure of the row."""
    path = os.path.join(stand.folder, "steps")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join("\t".join(step) + "\n" for step in steps))
    result = stand.tool("load", "--url", url, "--steps", path, "--connections", connections, *times.options(),
                        beside=beside)
    odd = {status: n for status, n in result["total"].items() if not status.startswith("2")}
    if odd or any(result["errors"].values()):
        raise AssertionError(f"unexpected replies: {odd}, errors: {result['errors']}")
    return result


# -- the service

def service_steps(extra=""):
    path = f"/v1/locks/{NAME.replace('/', '%2F')}"
    body = f'{{"ttlMs":{TTL_MS},"token":"{TOKEN}"{extra}}}'
    return [("http", "PUT", path, "", body, ""), ("http", "DELETE", path, f"Lock-Token: {TOKEN}", "", "")]


def service_cycles(with_service, settings=None, crowd=None):
    """crowd(stand, service): what else is there meanwhile; it is ended by its close()."""
    def measure(stand, times):
        def body(service, _database):
            others = crowd(stand, service) if crowd else None
            try:
                return figures(cycles(stand, times, f"http://127.0.0.1:{service.port}", service_steps(),
                                      {"service": service.pid}))
            finally:
                if others:
                    others.close()
        return with_service(stand, settings or {}, 1, body)
    return measure


class Crowd:
    """Locks that are held, and waiters parked at one name; the connections stay open until close()."""

    def __init__(self, stand, service):
        self._sockets = []
        self._hold(stand, service)
        self._park(service)

    @staticmethod
    def _hold(stand, service):
        """By tokens of a thousand names each, in sets."""
        client = service.http()
        for first in range(0, HELD_MANY, 50):
            names = [f"bench-held/{number}" for number in range(first, first + 50)]
            reply = client.put("/v1/locks", {"names": names, "ttlMs": 3600000, "token": f"bench-holder-{first // 1000:08d}"})
            if reply.status != 201:
                raise AssertionError(reply)
        client.close()

    def _park(self, service):
        client = service.http()
        client.put("/v1/locks/bench-line", {"ttlMs": 3600000})
        for _ in range(WAITING_MANY):
            self._sockets.append(Parked(service.port, "/v1/locks/bench-line", {"waitMs": 600000}))
        end = time.monotonic() + 60
        while client.get("/v1/locks/bench-line").json["waiters"] < WAITING_MANY:
            if time.monotonic() > end:
                raise AssertionError("not all are parked")
        client.close()

    def close(self):
        for one in self._sockets:
            one.close()


def hand_over(with_service):
    """A line served from its head to its end: from sending the release to having the next holder's whole reply, as one
    thread of Python sees it."""
    def measure(stand, _times):
        def body(service, _database):
            client = service.http()
            holder = client.put("/v1/locks/bench-line", {"ttlMs": 3600000}).json
            line = []
            for number in range(LINE):
                line.append(Parked(service.port, "/v1/locks/bench-line", {"waitMs": 600000, "ttlMs": 3600000}))
                while client.get("/v1/locks/bench-line").json["waiters"] < number + 1:
                    pass
            cpu, took = stand.cpu({"service": service.pid}), []
            for one in line:
                begun = time.perf_counter()
                client.request("DELETE", "/v1/locks/bench-line", headers={"Lock-Token": holder["token"]})
                holder = one.reply().json
                took.append((time.perf_counter() - begun) * 1e6)
                one.close()
            client.close()
            took.sort()
            return {"rate": 1e6 / statistics.mean(took), "p50": statistics.median(took), "p99": took[int(LINE * 0.99)],
                    "cores": cpu.cores(0)}
        return with_service(stand, {}, 1, body)
    return measure


# -- Redis alone

def _redis_ready(stand):
    redis = stand.redis
    redis.call("FLUSHALL")
    redis.call("HSET", "lockstock:fence", "marker", "1:bench", "n", 0)
    return [redis.call("SCRIPT", "LOAD", script(*parts)) for parts in PARTS.values()]


def redis_steps(shas, name, holder):
    """The two calls of a cycle, with the arguments the service gives them."""
    return [("resp", "EVALSHA", shas[0], "1", name, holder, str(TTL_MS), "9000000000000", "1:bench",
             secrets.token_hex(18), "anonymous@127.0.0.1", "", "lock", "", "take"),
            ("resp", "EVALSHA", shas[1], "1", name, holder, "", "", "0")]


def redis_cycles(stand, times):
    """By our own driver, call after call without a pipeline, on the same locks as the service's row."""
    steps = redis_steps(_redis_ready(stand), NAME, "0" * 58 + "@c@")
    return figures(cycles(stand, times, f"http://127.0.0.1:{stand.redis.port}", steps))


def _benchmark(stand, count, names, command):
    """Calls per second by redis-benchmark, and their p50 and p99 in microseconds."""
    argv = ["redis-benchmark", "-p", stand.redis.port, "-c", CONNECTIONS, "-n", count, "-r", names, "--csv", *command[1:]]
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=True)
    fields = done.stdout.splitlines()[1].replace('"', "").rsplit(",", 7)
    return float(fields[1]), float(fields[4]) * 1000, float(fields[6]) * 1000


def redis_benchmark(stand, times):
    """redis-benchmark calls one script, with numbers it draws itself. Acquires: of names and holders never used, so that
    each grants. Releases: of names drawn from ten thousand that are held, a quarter as many calls as names, so that nine
    in ten release; in rounds, held anew between them. The ceiling of cycles is what both take after each other."""
    shas, cpu, released = _redis_ready(stand), stand.cpu({}), []
    take, let_go = redis_steps(shas, "bench/__rand_int__", "holder-__rand_int__")
    _benchmark(stand, 2000, 10 ** 9, take)
    granted, p50, p99 = _benchmark(stand, 15000 * times.seconds, 10 ** 9, take)
    shas = _redis_ready(stand)
    let_go = redis_steps(shas, "bench/__rand_int__", "holder")[1]
    for _ in range(4 * times.seconds):
        stand.redis.call("EVAL", script("lock_common") + FILL, 0, TOKEN_NAMES, TTL_MS)
        released.append(_benchmark(stand, TOKEN_NAMES // 4, TOKEN_NAMES, let_go)[0])
    stand.redis.call("FLUSHALL")
    release = statistics.median(released)
    return {"rate": 1 / (1 / granted + 1 / release), "p50": p50, "p99": p99, "cores": cpu.cores(0), "acquires": granted,
            "releases": release}


# -- etcd, by its JSON gateway, the data on the disk and synced as it is by default

class Etcd:
    def __init__(self, stand):
        self.port, peer = free_port(), free_port()
        client, between = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{peer}"
        self.url = client
        self._folder = os.path.join(stand.folder, f"etcd-{self.port}")
        argv = ["etcd", "--data-dir", self._folder, "--log-level", "error", "--listen-client-urls", client,
                "--advertise-client-urls", client, "--listen-peer-urls", between, "--initial-advertise-peer-urls", between,
                "--initial-cluster", f"default={between}"]
        self.process = Process(argv, os.path.join(stand.folder, "etcd.log"))

    def __enter__(self):
        self.process.start()
        prefer(self.process.pid)
        eventually(lambda: accepts(self.port), 20, "etcd listens")
        eventually(self.lease, 20, "etcd grants leases")
        return self

    def lease(self):
        request = urllib.request.Request(self.url + "/v3/lease/grant", json.dumps({"TTL": 3600}).encode())
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                return json.load(reply)["ID"]
        except OSError:
            return None

    def __exit__(self, *_):
        self.process.stop(20)
        shutil.rmtree(self._folder, ignore_errors=True)


PEER = os.path.join(ROOT, "build", "interop", "redisson-4")  # made by tests/interop/run.sh --build
ETCD_NAME = "name@c@xx"  # base64 of whatever it may be


def etcd_cycles(one_lease):
    """Lock and unlock; with a lease each, granted before and revoked after, as a client's session does."""
    def measure(stand, times):
        with Etcd(stand) as etcd:
            if one_lease:
                lock = {"name": ETCD_NAME, "lease": etcd.lease()}
                steps = [("http", "POST", "/v3/lock/lock", "", json.dumps(lock), "key"),
                         ("http", "POST", "/v3/lock/unlock", "", json.dumps({"key": "@taken@"}), "")]
            else:
                lock = {"name": ETCD_NAME, "lease": "@kept@"}
                steps = [("http", "POST", "/v3/lease/grant", "", json.dumps({"TTL": TTL_MS // 1000}), "=ID"),
                         ("http", "POST", "/v3/lock/lock", "", json.dumps(lock), "key"),
                         ("http", "POST", "/v3/lock/unlock", "", json.dumps({"key": "@taken@"}), ""),
                         ("http", "POST", "/v3/lease/revoke", "", json.dumps({"ID": "@kept@"}), "")]
            return figures(cycles(stand, times, etcd.url, steps, {"service": etcd.process.pid}))
    return measure


# -- Redisson in a JVM

def redisson_cycles(stand, times):
    """64 threads, each with its own RLock: lock and unlock through one client, in the process that wants the lock."""
    stand.redis.call("FLUSHALL")
    argv = ["java", "-cp", f"{PEER}/classes:{PEER}/lib/*", "lockstock.interop.Cycles", str(stand.redis.port), str(CONNECTIONS), str(times.warmup + 3),
            str(times.seconds)]
    cpu = stand.cpu({})
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Redisson: {done.stderr.strip()[-500:]}")
    result = json.loads(done.stdout)
    return {"rate": result["rate"], "p50": result["p50"], "p99": result["p99"], "cores": cpu.cores(result["cpu"])}


def lock_rows(with_service):
    """By name; without what this machine does not have."""
    rows = {
        "locks 64": service_cycles(with_service),
        "locks 64, 2 loops": service_cycles(with_service, {"LOCKSTOCK_LOOPS": 2}),
        "locks 64 beside 10,000 held and 5,000 waiting": service_cycles(with_service, crowd=Crowd),
        "hand-over, 1,000 waiting": hand_over(with_service),
        "Redis alone, both scripts in turn": redis_cycles,
        "Redis alone, redis-benchmark": redis_benchmark,
    }
    if shutil.which("etcd"):
        rows.update({"etcd, a lease each": etcd_cycles(False), "etcd, one lease": etcd_cycles(True)})
    if os.path.isdir(PEER) and shutil.which("java"):
        rows["Redisson in its JVM"] = redisson_cycles
    return rows


__all__ = ["lock_rows"]
