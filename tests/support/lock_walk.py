"""The part of the contract walk that is about locks, sets of locks, semaphores and fences."""

import hashlib

from .client import Reply
from .events import Stream
from .locks import Parked, token
from .wait import eventually

LOCK, SET, SEMAPHORE = "/v1/locks/walk", "/v1/locks", "/v1/semaphores/permits"
RW = "/v1/locks/walk-rw"


def key_of(secret):
    """The names of an anonymous token in Redis."""
    return "lockstock:token:" + hashlib.sha256(b"anonymous\0" + secret.encode()).hexdigest()


class LockWalk:
    """For Walk: self.walk, self.redis, self.http, self.contract."""

    def as_holder(self, secret):
        return {"Lock-Token": secret}

    def asks(self):
        """(path, body that takes, body of another kind or limit, what another holder is refused with) of each way to
        take."""
        return ((LOCK, {}, {}), (SET, {"names": ["walk/a", "walk/b"]}, {}), (SEMAPHORE, {"limit": 1}, {"limit": 2}))

    def walk_taking(self):
        for path, body, other in self.asks():
            mine = token()
            first = self.walk(201, "PUT", path, {**body, "token": mine, "metadata": {"a": 1}})
            again = self.walk(200, "PUT", path, {**body, "token": mine})
            self.assertEqual(first.json.get("fence"), again.json.get("fence"))
            self.walk(423, "PUT", path, body, "LCK-001")
            if other:
                self.walk(409, "PUT", path, {**body, **other}, "LCK-005")
            self.walk_full(path, body)
            waiting = Parked(self.service.port, path, {**body, "waitMs": 60000})
            self.addCleanup(waiting.close)
            self.later.append((path, waiting, mine))
        self.walk_reading()
        self.redis.call("SET", "walk/string", "x")
        self.walk(409, "PUT", "/v1/locks/walk%2Fstring", {}, "LCK-005")
        self.walk(409, "PUT", SET, {"names": ["walk/c", "walk/string"]}, "LCK-005")
        self.walk(409, "DELETE", "/v1/locks/walk%2Fstring?force=true&reason=x", code="LCK-005")
        self.walk(404, "PUT", "/v1/semaphores/nobody-knows", {}, "SYS-013")

    def walk_reading(self):
        reads = {"kind": "rw", "mode": "shared"}
        secrets = [self.walk(201, "PUT", RW, reads).json["token"] for _ in range(2)]
        self.walk(200, "PUT", RW, {**reads, "token": secrets[0]})
        self.walk(423, "PUT", RW, {"kind": "rw"}, "LCK-001")
        self.walk(409, "PUT", RW, {}, "LCK-005")
        self.walk(400, "PUT", RW, {"mode": "shared"}, "SYS-003")
        self.assertEqual(len(self.walk(200, "GET", RW).json["holders"]), 2)
        for secret in secrets:
            self.walk(200, "PATCH", RW, {}, headers=self.as_holder(secret))
            self.walk(204, "DELETE", RW, headers=self.as_holder(secret))

    def walk_full(self, path, body):
        """Somebody waits already where only one may; a token that holds as much as it may."""
        queued = Parked(self.narrow.port, path, {**body, "waitMs": 5000})
        eventually(lambda: self.narrow.metric("lockstock_lock_waiting") == 1, 5, "queued")
        self.walk(429, "PUT", path, {**body, "waitMs": 1000}, "LCK-004", self.narrow_http)
        queued.close()
        eventually(lambda: self.narrow.metric("lockstock_lock_waiting") == 0, 5, "gone")
        if path == SEMAPHORE:
            return
        greedy = token()
        self.redis.call("EVAL", "for i = 1, 10000 do redis.call('ZADD', KEYS[1], 0, 'x' .. i) end", 1, key_of(greedy))
        target, free = (SET, {"names": ["walk/free"]}) if path == SET else (path + "-free", {})
        self.walk(429, "PUT", target, {**free, "token": greedy}, "SYS-010")

    def walk_holding(self):
        for path, body in ((LOCK, {}), (SEMAPHORE, {"limit": 1})):
            path, mine = path + "-held", token()
            fence = self.walk(201, "PUT", path, {**body, "token": mine}).json["fence"]
            self.walk(200, "GET", path)
            self.walk(200, "PATCH", path, {"ttlMs": 60000}, headers=self.as_holder(mine))
            self.walk(410, "PATCH", path, {"ttlMs": 60000}, "LCK-002", headers=self.as_holder(token()))
            self.walk(410, "DELETE", path + "?fence=1", code="LCK-002", headers=self.as_holder(mine))
            self.walk(204, "DELETE", f"{path}?fence={fence}", headers=self.as_holder(mine))
            self.walk(400, "DELETE", path, code="SYS-003")
        self.walk(200, "PATCH", SEMAPHORE + "-held", {"limit": 3})
        self.walk(404, "PATCH", "/v1/semaphores/nobody-knows", {"limit": 3}, "SYS-013")
        self.walk(409, "PATCH", "/v1/semaphores/walk%2Fstring", {"limit": 3}, "LCK-005")
        for path in (LOCK, SEMAPHORE):
            self.walk(204, "DELETE", path + "-forced?force=true&reason=x")
        self.walk(409, "DELETE", "/v1/semaphores/walk%2Fstring?force=true&reason=x", code="LCK-005")

    def walk_watching(self):
        path = LOCK + "-watched/events"
        stream = Stream(self.narrow.port, path).read()
        self.assertEqual(stream.until(1)[0].event, "state")
        self.walk(429, "GET", path, code="SYS-010", http=self.narrow_http)
        stream.close()
        reply = Reply(stream.status, list(stream.headers.items()), b": nothing is said of the text\n\n")
        reply.headers.pop("transfer-encoding")  # of the transport
        self.assertEqual(self.contract.judge("GET", self.contract.template("GET", path), reply), [])

    def walk_sessions(self):
        mine = token()
        for number in range(3):
            self.walk(201, "PUT", f"/v1/locks/page{number}", {"token": mine})
        self.walk(201, "PUT", "/v1/semaphores/page3", {"limit": 1, "token": mine})
        self.walk(201, "PUT", "/v1/locks/page4", {"store": "database", "token": mine})
        self.pages("/v1/locks?prefix=page")
        self.redis.call("DEL", "page1")
        found = self.walk(200, "PATCH", SET, {"ttlMs": 60000}, headers=self.as_holder(mine)).json
        self.assertEqual(found["lost"], [{"name": "page1", "reason": "vanished"}])
        self.walk(200, "DELETE", SET, headers=self.as_holder(mine))
        self.walk(410, "PATCH", SET, {"ttlMs": 60000}, "LCK-002", headers=self.as_holder(mine))

    def walk_fences(self):
        self.walk(200, "POST", "/v1/fences/shown", {"fence": 5})
        self.walk(412, "POST", "/v1/fences/shown", {"fence": 4}, "LCK-006")

    def walk_slices(self):
        """Those that were left waiting when the others were walked."""
        for path, waiting, _ in self.later:
            reply = waiting.reply(30)
            self.assertEqual(reply.status, 202, reply)
            self.assertEqual(self.contract.judge("PUT", self.contract.template("PUT", path), reply), [])

    def walk_cycles(self):
        """Two tokens that each wait for what the other holds."""
        for path, body in ((LOCK + "-c", {}), (SET, {"names": ["walk-c", "walk-free"]})):
            secrets = [token(), token()]
            for number, secret in enumerate(secrets):
                self.walk(201, "PUT", "/v1/locks/walk-" + "cd"[number], {"token": secret})
            first = Parked(self.service.port, "/v1/locks/walk-d", {"token": secrets[0], "waitMs": 10000})
            eventually(lambda: self.redis.call("KEYS", "lockstock:waits:*"), 5, "it waits")
            self.walk(409, "PUT", path, {**body, "token": secrets[1], "waitMs": 10000}, "LCK-007")
            self.walk(200, "DELETE", SET, headers=self.as_holder(secrets[1]))
            self.assertEqual(first.reply(5).status, 201)
            first.close()
            self.walk(200, "DELETE", SET, headers=self.as_holder(secrets[0]))

    def walk_redis_away(self):
        self.redis.kill()
        eventually(lambda: self.http.get("/readyz").json["degraded"] == ["redis"], 10, "seen")
        for (method, path), operation in self.contract.operations.items():
            if path.startswith(("/v1/locks", "/v1/semaphores")):
                body = self.fitting(operation) if "requestBody" in operation else None
                self.walk(503, method, self.concrete(path), body, "LCK-003", headers=self.as_holder(token()))
        for path, body, _ in self.asks():
            self.walk(201, "PUT", path, {**body, "onRedisDown": "open"})
        self.stack.heal()
        eventually(lambda: self.http.get("/readyz").json["degraded"] == [], 10, "back")

    def walk_locks(self):
        self.later = []
        self.narrow = self.instance("narrow", env={**self.ENV, "LOCKSTOCK_WAITERS_MAX": 1, "LOCKSTOCK_STREAMS_MAX": 1}).start()
        self.narrow_http = self.narrow.http()
        self.addCleanup(self.narrow_http.close)
        for one in self.services:
            eventually(lambda one=one: one.get("/readyz").json["degraded"] == [], 10, "Redis is up")
        for part in (self.walk_taking, self.walk_holding, self.walk_watching, self.walk_sessions,
                     self.walk_cycles, self.walk_fences, self.walk_slices):
            part()
