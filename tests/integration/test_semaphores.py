"""Semaphores on Redis: permits taken, renewed, given back and looked at; waiting; the Redis layout; Java beside them."""

import concurrent.futures
import hashlib
import os
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.locks import LockCase, Parked, token
from support.resp import Subscriber
from support.semaphores import JavaSemaphore, channel, permits_key
from support.wait import eventually

SPAN = 2 ** 32


class SemaphoreCase(LockCase):
    """Calls on /v1/semaphores."""

    @staticmethod
    def path(name, safe=""):
        return "/v1/semaphores/" + urllib.parse.quote(name, safe=safe or "")

    def put(self, name, http=None, **body):
        return super().put(name, http, **{"limit": 2, **body})

    def service_put(self, name, number=0, **body):
        return super().service_put(name, number, **{"limit": 2, **body})

    def status(self, name):
        reply = self.http.get(self.path(name))
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def parked(self, name, number=0, **body):
        one = Parked(self.services[number].port, self.path(name), {"limit": 2, "waitMs": 15000, **body})
        self.addCleanup(one.close)
        return one

    def until_waiting(self, name, count):
        eventually(lambda: self.status(name)["waiters"] == count, 5, f"{count} waiters")

    def available(self, name):
        return int(self.redis.call("GET", name))


class Acquire(SemaphoreCase):

    def test_put__when_free__then_201_with_everything(self):
        name, mine = self.name(), token()
        reply = self.put(name, token=mine, owner="batch-1", ttlMs=20000, permits=3, limit=5, metadata={"job": 7})
        self.assertEqual(reply.status, 201, reply)
        grant = reply.json
        self.assertEqual({k: grant[k] for k in ("name", "status", "token", "owner", "kind", "permits", "ttlMs", "safety",
                                                "degraded")},
                         {"name": name, "status": "held", "token": mine, "owner": "batch-1", "kind": "semaphore",
                          "permits": 3, "ttlMs": 20000, "safety": "redis", "degraded": False})
        self.assertGreater(grant["fence"], SPAN)
        self.assertTrue(19000 < grant["safeForMs"] < 20000, grant)
        self.assertEqual(reply.headers["lock-token"], mine)
        self.assertEqual(reply.headers["location"], self.path(name, safe="~:@"))

    def test_put__when_all_are_out__then_423_until_one_comes_back(self):
        name = self.name()
        first, second = self.held(name), self.held(name)
        self.assertGreater(second["fence"], first["fence"])
        document = self.assert_problem(self.put(name), 423, "LCK-001", waiters=0)
        self.assertTrue(0 < document["holder"]["expiresInMs"] <= 30000, document)
        self.assertEqual(document["retryAfterMs"], 1000)
        self.let_go(first)
        self.assertGreater(self.held(name)["fence"], second["fence"])
        self.assertEqual(self.put(name).status, 423)

    def test_put__when_repeated__then_200_same_fence_same_permits_and_not_extended(self):
        name, mine = self.name(), token()
        first = self.held(name, token=mine, ttlMs=5000, permits=2, limit=3)
        time.sleep(0.05)
        again = self.put(name, token=mine, ttlMs=60000, permits=1, limit=3)
        self.assertEqual((again.status, again.json["fence"], again.json["permits"]), (200, first["fence"], 2))
        self.assertLess(again.json["safeForMs"], 4900)
        self.assertEqual(self.available(name), 1)

    def test_put__when_sent_30_times_in_parallel__then_one_grant(self):
        name, mine = self.name(), token()
        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            replies = list(pool.map(lambda _: self.service_put(name, token=mine, waitMs=2000), range(30)))
        self.assertEqual(len({r.json["fence"] for r in replies}), 1, replies)
        self.assertEqual(sorted(r.status for r in replies), [200] * 29 + [201])
        self.assertEqual(self.available(name), 1)

    def test_bodies__when_wrong__then_400_that_names_the_range(self):
        name = self.name()
        for body, word in (({"limit": 0}, "1"), ({"limit": 10001}, "10000"),
                           ({"limit": 5, "permits": 0}, "1"), ({"limit": 5000, "permits": 1001}, "1000"),
                           ({"limit": 2, "permits": 3}, "limit"), ({"limit": 2, "kind": "lock"}, "known"),
                           ({"limit": 2, "ttlMs": 99}, "100"), ({"limit": 2, "token": "short"}, "16")):
            with self.subTest(body=body):
                document = self.assert_problem(self.http.put(self.path(name), body), 400, "SYS-003")
                self.assertIn(word, document["errors"][0]["detail"])
        self.assertEqual(self.redis.call("EXISTS", name), 0)

    def test_put__when_many_at_once__then_never_more_than_the_limit_are_out(self):
        name, limit, out, most, granted = self.name(), 4, [], [], []

        def work(number):
            weight = 1 + number % 3
            reply = self.service_put(name, permits=weight, limit=limit, waitMs=20000)
            self.assertEqual(reply.status, 201, reply)
            out.extend([number] * weight)
            most.append(len(out))
            time.sleep(0.005)
            for _ in range(weight):
                out.remove(number)
            granted.append(reply.json["fence"])
            done = self.on_own_connection("DELETE", self.path(name), headers={"Lock-Token": reply.json["token"]})
            self.assertEqual(done.status, 204, done)

        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            for future in [pool.submit(work, n) for n in range(60)]:
                future.result()
        self.assertLessEqual(max(most), limit)
        self.assertGreater(max(most), 1)
        self.assertEqual(len(set(granted)), 60)
        self.assertEqual(self.available(name), limit)


class Limit(SemaphoreCase):

    def test_limit__when_another__then_lck_005_and_the_first_stands(self):
        name = self.name()
        self.held(name, limit=3)
        document = self.assert_problem(self.put(name, limit=4), 409, "LCK-005", kind="semaphore")
        self.assertIn("has 3 permits", document["detail"])
        self.assertEqual(self.status(name)["limit"], 3)

    def test_limit__when_changed__then_more_are_given_and_fewer_are_awaited(self):
        name = self.name()
        grants = [self.held(name), self.held(name)]
        waiter = self.parked(name)
        self.until_waiting(name, 1)
        reply = self.http.request("PATCH", self.path(name), {"limit": 3})
        self.assertEqual((reply.status, reply.json["limit"]), (200, 3), reply)
        self.assert_problem(waiter.reply(), 409, "LCK-005", kind="semaphore")
        grants.append(self.held(name, limit=3))
        self.assertEqual(self.http.request("PATCH", self.path(name), {"limit": 1}).json["available"], -2)
        for grant in grants:
            self.assertEqual(self.put(name, limit=1).status, 423)
            self.let_go(grant)
        self.held(name, limit=1)
        self.assertEqual(self.put(name, limit=1).status, 423)

    def test_limit__when_left_out__then_as_it_is_also_after_a_change(self):
        name = self.name()
        self.assert_problem(self.http.put(self.path(name), {}), 404, "SYS-013")
        self.held(name)
        self.assertEqual(self.http.put(self.path(name), {}).status, 201)
        waiter = self.parked(name, limit=None)
        self.until_waiting(name, 1)
        self.http.request("PATCH", self.path(name), {"limit": 3})
        self.assertEqual(waiter.reply().status, 201)
        self.assert_problem(self.http.put(self.path(name), {"permits": 4}), 409, "LCK-005", kind="semaphore")

    def test_limit__when_there_is_no_semaphore__then_404_or_lck_005(self):
        name = self.name()
        self.assert_problem(self.http.request("PATCH", self.path(name), {"limit": 3}), 404, "SYS-013")
        self.assertEqual(self.http.put(LockCase.path(name), {}).status, 201)
        self.assert_problem(self.http.request("PATCH", self.path(name), {"limit": 3}), 409, "LCK-005", kind="lock")
        self.assert_problem(self.http.request("PATCH", self.path(name), {"limit": 3, "ttlMs": 500}), 400, "SYS-003")

    def test_kind__when_a_lock__then_no_semaphore_and_the_other_way_round(self):
        name, other = self.name(), self.name()
        self.assertEqual(self.http.put(LockCase.path(name), {}).status, 201)
        self.assert_problem(self.put(name), 409, "LCK-005", kind="lock")
        self.held(other)
        self.assert_problem(self.http.put(LockCase.path(other), {}), 409, "LCK-005", kind="semaphore")

    def test_kind__when_something_else_stands_there__then_lck_005_and_untouched(self):
        name, other = self.name(), self.name()
        self.redis.call("SET", name, "hello")
        self.assert_problem(self.put(name), 409, "LCK-005", kind="string")
        self.redis.call("RPUSH", other, "x")
        self.assert_problem(self.put(other), 409, "LCK-005", kind="list")
        self.assertEqual((self.redis.call("GET", name), self.redis.call("LLEN", other)), ("hello", 1))


class RenewAndRelease(SemaphoreCase):

    def test_renew__then_all_permits_live_on(self):
        name = self.name()
        grant = self.held(name, permits=2, ttlMs=1000)
        reply = self.patch(name, grant["token"], ttlMs=30000)
        self.assertEqual((reply.status, reply.json["fence"], reply.json["permits"], reply.json["owner"]),
                         (200, grant["fence"], 2, grant["owner"]), reply)
        time.sleep(1.1)
        self.assertEqual(self.put(name).status, 423)
        self.let_go(grant)
        self.assertEqual(self.available(name), 2)

    def test_release__when_repeated__then_204_and_given_back_once(self):
        name = self.name()
        grant = self.held(name)
        self.let_go(grant)
        self.let_go(grant)
        self.assertEqual(self.available(name), 2)

    def test_lost__when_expired_or_unknown_or_another_fence__then_410_with_the_reason(self):
        name = self.name()
        grant = self.held(name, ttlMs=100)
        time.sleep(0.15)
        for reply in (self.patch(name, grant["token"], ttlMs=500), self.delete(name, grant["token"])):
            self.assert_problem(reply, 410, "LCK-002", reason="expired", heldByOtherSince=None)
        self.assertEqual(self.available(name), 2, "an expired permit comes back once")
        self.assert_problem(self.delete(name, token()), 410, "LCK-002", reason="unknown")
        again = self.held(name, token=grant["token"])
        self.assert_problem(self.delete(name, grant["token"], fence=grant["fence"]), 410, "LCK-002", reason="superseded")
        self.assertEqual(self.delete(name, grant["token"], fence=again["fence"]).status, 204)

    def test_lost__when_redis_was_emptied__then_410_and_the_fence_grows(self):
        name = self.name()
        grant = self.held(name)
        self.redis.call("FLUSHALL")
        self.assert_problem(self.patch(name, grant["token"], ttlMs=500), 410, "LCK-002", reason="unknown")
        self.assertGreater(self.held(name)["fence"], grant["fence"])

    def test_expiry__when_a_holder_is_gone__then_its_permits_are_given_again(self):
        name = self.name()
        self.held(name, ttlMs=300, permits=2)
        begun = time.monotonic()
        self.assertEqual(self.put(name, waitMs=5000, permits=2).status, 201)
        self.assertTrue(0.2 < time.monotonic() - begun < 1.5)


class Forced(SemaphoreCase):

    def force(self, name, query="force=true&reason=the+node+is+gone", **kw):
        return self.http.request("DELETE", self.path(name) + "?" + query, **kw)

    def test_force__when_several_hold__then_all_free_told_audited_and_the_mark_raised(self):
        name = self.name()
        first = self.held(name, limit=3, permits=2, owner="stuck-1")
        second = self.held(name, limit=3, owner="stuck-2")
        self.assertEqual(self.force(name, headers={"X-Request-Id": "req-9"}).status, 204)
        self.assertEqual((self.available(name), self.redis.call("EXISTS", permits_key(name))), (3, 0))
        for grant in (first, second):
            self.assert_problem(self.patch(name, grant["token"], ttlMs=500), 410, "LCK-002", reason="forced")
            self.assert_problem(self.delete(name, grant["token"]), 410, "LCK-002", reason="forced")
        fence = self.assert_force_audited(name, "req-9", "stuck-2", second["fence"])
        self.assertGreater(self.held(name, limit=3, permits=3)["fence"], fence)

    def test_force__when_somebody_waits__then_granted_and_java_permits_are_taken_too(self):
        name = self.name()
        java = JavaSemaphore(self.redis, name)
        self.addCleanup(java.close)
        java.set_permits(2)
        permit = java.acquire()
        self.held(name)
        waiter = self.parked(name, permits=2)
        self.until_waiting(name, 1)
        self.assertEqual(self.force(name).status, 204)
        self.assertEqual(waiter.reply(5).status, 201)
        self.assertFalse(java.release(permit))
        self.assertEqual(self.available(name), 0)

    def test_force__when_a_heartbeat_follows__then_the_loss_is_told_with_the_reason(self):
        name, secret = self.name(), token()
        self.held(name, token=secret)
        self.assertEqual(self.http.put(LockCase.path(self.name()), {"token": secret}).status, 201)
        self.assertEqual(self.force(name).status, 204)
        reply = self.http.request("PATCH", "/v1/locks", headers={"Lock-Token": secret})
        self.assertEqual(reply.json["lost"], [{"name": name, "reason": "forced"}])

    def test_force__when_free_or_unknown__then_204_and_audited_and_when_a_lock__then_lck_005(self):
        name, unknown, lock = self.name(), self.name(), self.name()
        self.let_go(self.held(name))
        for one in (name, unknown):
            self.assertEqual(self.force(one).status, 204)
            self.assertEqual(self.db.value("SELECT was_held FROM lock_audit WHERE name=%s", one), 0)
        self.assertEqual(self.redis.call("EXISTS", unknown), 0)
        self.assertEqual(self.http.put(LockCase.path(lock), {}).status, 201)
        self.assert_problem(self.force(lock), 409, "LCK-005", kind="lock")
        reply = self.http.request("DELETE", LockCase.path(name) + "?force=true&reason=x")
        self.assert_problem(reply, 409, "LCK-005", kind="semaphore")

    def test_force__when_no_epoch_is_known__then_one_is_found_first(self):
        name = self.name()
        self.held(name)
        self.redis.call("DEL", "lockstock:fence")
        self.assertEqual(self.force(name).status, 204)
        self.assertEqual(self.available(name), 2)

    def test_force__when_asked_wrongly__then_400(self):
        for query in ("force=true", "force=1&reason=x", "force=true&reason=x&fence=1"):
            self.assert_problem(self.force(self.name(), query), 400, "SYS-003")

    def test_force__when_redis_is_away__then_503(self):
        self.stack.redis.kill()
        self.addCleanup(self.until_ready)
        self.addCleanup(self.stack.heal)
        self.until_ready("redis")
        self.assert_problem(self.force(self.name()), 503, "LCK-003")


class Session(SemaphoreCase):
    """Everything a token holds, in one request."""

    def all_of(self, method, secret, body=None):
        return self.http.request(method, "/v1/locks", body, headers={"Lock-Token": secret})

    def test_heartbeat__when_locks_and_permits__then_all_are_renewed(self):
        secret, lock, names = token(), self.name(), [self.name() for _ in range(70)]
        self.assertEqual(self.http.put(LockCase.path(lock), {"token": secret, "ttlMs": 2000}).status, 201)
        for name in names:
            self.held(name, token=secret, ttlMs=2000)
        reply = self.all_of("PATCH", secret, {"ttlMs": 60000})
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual(sorted(e["name"] for e in reply.json["locks"]), sorted([lock] + names))
        self.assertTrue(all(self.status(n)["holders"][0]["expiresInMs"] > 50000 for n in (names[0], names[69])))

    def test_release_all__then_permits_come_back_and_what_was_lost_is_named(self):
        secret, name, gone = token(), self.name(), self.name()
        self.held(name, token=secret, permits=2)
        self.held(gone, token=secret, ttlMs=100)
        time.sleep(0.15)
        reply = self.all_of("DELETE", secret)
        self.assertEqual((reply.status, reply.json["released"]), (200, [name]), reply)
        self.assertEqual([(e["name"], e["reason"]) for e in reply.json["lost"]], [(gone, "expired")])
        self.assertEqual((self.available(name), self.available(gone)), (2, 2))
        digest = hashlib.sha256(b"anonymous\0" + secret.encode()).hexdigest()
        self.assertEqual(self.redis.call("EXISTS", "lockstock:token-permits:" + digest), 0)


class Status(SemaphoreCase):

    def test_get__then_holders_in_the_order_they_came(self):
        name = self.name()
        first = self.held(name, limit=9, permits=2, owner="a", metadata={"x": 1})
        second = self.held(name, limit=9, permits=3, owner="b")
        status = self.status(name)
        self.assertEqual({k: status[k] for k in ("name", "kind", "limit", "available", "fence", "waiters")},
                         {"name": name, "kind": "semaphore", "limit": 9, "available": 4, "fence": second["fence"],
                          "waiters": 0})
        self.assertEqual([(h["owner"], h["permits"], h["fence"], h["metadata"]) for h in status["holders"]],
                         [("a", 2, first["fence"], {"x": 1}), ("b", 3, second["fence"], None)])
        self.assertNotIn(first["token"], str(status))

    def test_get__when_never_used__then_nothing_known(self):
        name = self.name()
        self.assertEqual(self.status(name), {"name": name, "kind": None, "limit": None, "available": None, "holders": [],
                                             "fence": None, "waiters": 0})

    def test_get__when_expired__then_available_without_a_write(self):
        name = self.name()
        self.held(name, ttlMs=100)
        time.sleep(0.15)
        status = self.status(name)
        self.assertEqual((status["available"], status["holders"]), (2, []))
        self.assertEqual(self.redis.call("ZCARD", permits_key(name)), 1)


class Layout(SemaphoreCase):

    def test_keys__then_as_redisson_and_no_secret(self):
        name, mine = self.name(), token()
        self.held(name, token=mine, permits=2, limit=5, ttlMs=10000)
        self.assertEqual(self.redis.call("GET", name), "3")
        scores = self.redis.call("ZRANGE", permits_key(name), 0, -1, "WITHSCORES")[1::2]
        now = int(self.redis.call("TIME")[0]) * 1000
        self.assertEqual(len(scores), 2)
        self.assertTrue(all(now + 8000 < int(score) < now + 12000 for score in scores), (now, scores))
        length = "return {#redis.call('ZRANGE', KEYS[1], 0, 0)[1], #redis.call('ZRANGE', KEYS[1], 1, 1)[1]}"
        self.assertEqual(self.redis.call("EVAL", length, 1, permits_key(name)), [16, 16])
        self.assertNotIn(mine, str(self.redis.call("HGETALL", "lockstock:permits:" + name)))

    def test_release__then_message_with_what_is_free(self):
        name = self.name()
        grant, _ = self.held(name, limit=3, permits=2), self.held(name, limit=3)
        heard = Subscriber(self.redis, channel(name))
        self.addCleanup(heard.close)
        self.let_go(grant)
        eventually(lambda: heard.messages() == ["2"], 5, "the message")

    def test_limit__when_still_none_is_free__then_no_message_below_1(self):
        name = self.name()
        grants = [self.held(name), self.held(name)]
        self.http.request("PATCH", self.path(name), {"limit": 1})
        heard = Subscriber(self.redis, channel(name))
        self.addCleanup(heard.close)
        for grant in grants:
            self.let_go(grant)
        eventually(lambda: heard.messages() == ["1"], 5, "one message, of the second release")

    def test_ttl__when_ours__then_gone_a_day_after_the_last_lease(self):
        name = self.name()
        self.held(name, ttlMs=60000)
        for key in (name, permits_key(name), "lockstock:lock:" + name):
            self.assertTrue(86400000 < self.redis.call("PTTL", key) <= 86460000, key)


class Waiting(SemaphoreCase):
    INSTANCES = 2

    def test_release__then_the_first_waiter_has_it_at_once(self):
        name = self.name()
        grant, _ = self.held(name), self.held(name)
        waiters = []
        for number in range(3):
            waiters.append(self.parked(name, owner=f"w{number}"))
            self.until_waiting(name, number + 1)
        begun = time.monotonic()
        self.let_go(grant)
        got = waiters[0].reply()
        self.assertEqual((got.status, got.json["owner"]), (201, "w0"), got)
        self.assertLess(time.monotonic() - begun, 0.5, "not by polling")
        self.assertFalse(waiters[1].answered())

    def test_release__when_it_is_enough_for_several__then_all_of_them_in_order(self):
        name = self.name()
        grant = self.held(name, limit=3, permits=3)
        waiters = []
        for number in range(4):
            waiters.append(self.parked(name, limit=3))
            self.until_waiting(name, number + 1)
        self.let_go(grant)
        fences = [w.reply().json["fence"] for w in waiters[:3]]
        self.assertEqual(fences, sorted(fences))
        self.assertFalse(waiters[3].answered())

    def test_weight__when_the_head_needs_more__then_nobody_overtakes_it(self):
        name = self.name()
        grants = [self.held(name, limit=3) for _ in range(3)]
        heavy = self.parked(name, limit=3, permits=2)
        self.until_waiting(name, 1)
        light = self.parked(name, limit=3)
        self.until_waiting(name, 2)
        self.let_go(grants[0])
        self.assertEqual(self.put(name, limit=3).status, 423, "a try does not overtake either")
        self.assertFalse(heavy.answered() or light.answered())
        self.let_go(grants[1])
        self.assertEqual(heavy.reply().json["permits"], 2)
        self.assertFalse(light.answered())
        self.let_go(grants[2])
        self.assertEqual(light.reply().status, 201)

    def test_release__when_on_the_other_instance__then_woken_by_the_message(self):
        name = self.name()
        grants = [self.held(name, self.client(1)) for _ in range(2)]
        waiter = self.parked(name)
        self.until_waiting(name, 1)
        eventually(lambda: self.redis.call("PUBSUB", "NUMSUB", channel(name))[1] == 1, 5, "listening")
        begun = time.monotonic()
        self.let_go(grants[0], self.client(1))
        self.assertEqual(waiter.reply().status, 201)
        self.assertLess(time.monotonic() - begun, 0.5)

    def test_waiter__when_its_client_hangs_up__then_never_given_and_the_next_is(self):
        name = self.name()
        grant, _ = self.held(name), self.held(name)
        gone = self.parked(name)
        self.until_waiting(name, 1)
        stays = self.parked(name)
        self.until_waiting(name, 2)
        gone.close()
        self.until_waiting(name, 1)
        self.let_go(grant)
        self.assertEqual(stays.reply().status, 201)
        self.assertEqual((self.available(name), len(self.status(name)["holders"])), (0, 2))

    def test_wait__when_over__then_423(self):
        name = self.name()
        self.held(name, permits=2)
        begun = time.monotonic()
        self.assert_problem(self.put(name, waitMs=300), 423, "LCK-001")
        self.assertTrue(0.25 < time.monotonic() - begun < 2)


class Neighbours(SemaphoreCase):
    """A Java service with Redisson's RPermitExpirableSemaphore on the same name."""

    def java(self, name):
        one = JavaSemaphore(self.redis, name)
        self.addCleanup(one.close)
        return one

    def test_java__when_it_made_it__then_its_limit_stands_and_its_keys_keep_no_end(self):
        name = self.name()
        java = self.java(name)
        java.set_permits(2)
        self.assert_problem(self.put(name, limit=3), 409, "LCK-005")
        grant = self.held(name)
        self.assertEqual(self.redis.call("PTTL", name), -1)
        mine = java.acquire()
        self.assertIsNotNone(mine)
        self.assertIsNone(java.acquire())
        self.assertEqual(self.put(name).status, 423)
        holders = self.status(name)["holders"]
        self.assertEqual([(h["owner"], h["permits"]) for h in holders], [("anonymous@127.0.0.1", 1), (None, 1)])
        self.let_go(grant)
        self.assertIsNotNone(java.acquire())

    def test_java__when_it_releases__then_our_waiter_has_it_at_once(self):
        name = self.name()
        java = self.java(name)
        java.set_permits(1)
        permit = java.acquire()
        waiter = self.parked(name, limit=1)
        self.until_waiting(name, 1)
        eventually(lambda: self.redis.call("PUBSUB", "NUMSUB", channel(name))[1] == 1, 5, "listening")
        begun = time.monotonic()
        java.release(permit)
        self.assertEqual(waiter.reply().status, 201)
        self.assertLess(time.monotonic() - begun, 0.5)

    def test_java__when_our_holder_is_gone__then_its_permit_goes_to_java(self):
        name = self.name()
        self.held(name, limit=1, ttlMs=200)
        java = self.java(name)
        self.assertIsNone(java.acquire())
        eventually(java.acquire, 3, "the expired permit")
        self.assertEqual(self.put(name, limit=1).status, 423)

    def test_java__when_its_permit_ended__then_ours(self):
        name = self.name()
        java = self.java(name)
        java.set_permits(1)
        java.acquire(lease_ms=200)
        self.assertEqual(self.put(name, limit=1, waitMs=3000).status, 201)
        self.assertEqual(self.available(name), 0)


class RedisAway(SemaphoreCase):

    def test_put__when_redis_is_away__then_lck_003_or_unprotected(self):
        name = self.name()
        grant = self.held(name)
        self.stack.redis.kill()
        self.addCleanup(self.stack.heal)
        self.until_ready("redis")
        self.assert_problem(self.put(name), 503, "LCK-003")
        reply = self.put(name, onRedisDown="open")
        self.assertEqual((reply.status, reply.json["safety"], reply.json["fence"], reply.json["permits"]),
                         (201, "none", None, 1))
        self.assert_problem(self.patch(name, grant["token"], ttlMs=500), 503, "LCK-003")
        self.assert_problem(self.http.get(self.path(name)), 503, "LCK-003")


if __name__ == "__main__":
    main()
