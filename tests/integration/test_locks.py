"""Kind lock on Redis: taken, renewed, released, looked at; what the answers say; the Redis layout; idempotency."""

import concurrent.futures
import hashlib
import os
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.locks import LockCase, token
from support.resp import JavaLock, Subscriber, lock_channel
from support.wait import eventually

SPAN = 2 ** 32


class Acquire(LockCase):

    def test_put__when_free__then_201_with_everything(self):
        name, mine = self.name(), token()
        reply = self.put(name, token=mine, owner="billing-1", ttlMs=20000, metadata={"job": 7})
        self.assertEqual(reply.status, 201, reply)
        grant = reply.json
        self.assertEqual({k: grant[k] for k in ("name", "status", "token", "owner", "kind", "mode", "ttlMs", "safety",
                                                "degraded")},
                         {"name": name, "status": "held", "token": mine, "owner": "billing-1", "kind": "lock",
                          "mode": "exclusive", "ttlMs": 20000, "safety": "redis", "degraded": False})
        self.assertGreater(grant["fence"], SPAN)
        self.assertTrue(19000 < grant["safeForMs"] < 20000, grant)
        self.assertEqual(reply.headers["lock-token"], mine)
        self.assertEqual(reply.headers["location"], self.path(name, safe="~:@"))

    def test_put__when_no_body__then_token_made_and_default_ttl(self):
        reply = self.http.put(self.path(self.name()))
        self.assertEqual(reply.status, 201, reply)
        self.assertEqual(len(reply.json["token"]), 32)
        self.assertEqual((reply.json["ttlMs"], reply.json["owner"]), (30000, "anonymous@127.0.0.1"))

    def test_put__when_held__then_423_says_by_whom(self):
        name = self.name()
        grant = self.held(name, owner="first", metadata={"a": [1, "x"]})
        reply = self.put(name)
        holder = self.assert_problem(reply, 423, "LCK-001", waiters=0)["holder"]
        self.assertEqual((holder["owner"], holder["fence"], holder["metadata"]), ("first", grant["fence"], {"a": [1, "x"]}))
        self.assertTrue(0 <= holder["heldForMs"] < 5000 and 25000 < holder["expiresInMs"] <= 30000, holder)
        self.assertEqual(reply.json["retryAfterMs"], 1000)

    def test_put__when_repeated__then_200_same_fence_and_not_extended(self):
        name, mine = self.name(), token()
        first = self.held(name, token=mine, ttlMs=5000)
        time.sleep(0.05)
        again = self.put(name, token=mine, ttlMs=60000)
        self.assertEqual((again.status, again.json["fence"]), (200, first["fence"]))
        self.assertLess(again.json["safeForMs"], 4900)
        self.assertLessEqual(self.redis.call("PTTL", name), 5000)
        self.assertEqual(self.redis.call("HGETALL", name)[1], "1", "no second count")

    def test_put__when_sent_50_times_in_parallel__then_one_grant(self):
        name, mine = self.name(), token()
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            replies = list(pool.map(lambda _: self.service_put(name, token=mine, waitMs=2000), range(50)))
        self.assertEqual({r.json["fence"] for r in replies}.__len__(), 1, replies)
        self.assertEqual(sorted(r.status for r in replies), [200] * 49 + [201])

    def test_ttl__when_over__then_free_and_the_fence_grows(self):
        name = self.name()
        first = self.held(name, ttlMs=100)
        reply = eventually(lambda: (r := self.put(name)).status == 201 and r, 5, "expired")
        self.assertGreater(reply.json["fence"], first["fence"])

    def test_bodies__when_wrong__then_400_that_names_the_range(self):
        name = self.name()
        for body, word in (({"ttlMs": 99}, "100"), ({"ttlMs": 86400001}, "86400000"), ({"waitMs": 600001}, "600000"),
                           ({"token": "short"}, "16"), ({"token": "x" * 20 + "!"}, "16"), ({"owner": ""}, "1"),
                           ({"kind": "fancy"}, "lock"), ({"mode": "shared"}, "exclusive"), ({"ttl": 1}, "known"),
                           ({"onRedisDown": "maybe"}, "closed"), ({"metadata": {"a": "x" * 2048}}, "2048"),
                           ({"metadata": []}, "2048"), ({"ttlMs": 1000.0}, "integer")):
            with self.subTest(body=str(body)[:60]):
                reply = self.http.put(self.path(name), body)
                document = self.assert_problem(reply, 400, "SYS-003")
                self.assertIn(word, document["errors"][0]["detail"])
        self.assertEqual(self.redis.call("EXISTS", name), 0)

    def test_names__when_odd__then_taken_verbatim_or_refused(self):
        for name in ("a/b", "a b", "käse", "100%", "x?y#z", "n" * 200):
            with self.subTest(name=name):
                reply = self.put(name)
                self.assertEqual((reply.status, reply.json["name"]), (201, name), reply)
                self.assertEqual(reply.headers["location"], self.path(name, safe="~:@"))
                self.assertEqual(self.redis.call("TYPE", name), "hash")
                self.assertEqual(self.http.get(reply.headers["location"]).json["name"], name)
        for name in ("n" * 201, "a{b", "a}b", " a", "a ", "lockstock:x", "a\tb"):
            with self.subTest(name=name):
                self.assert_problem(self.put(name), 400, "SYS-003")

    def test_query__when_unknown__then_400(self):
        self.assert_problem(self.http.put(self.path(self.name()) + "?wait=1"), 400, "SYS-003")


class Layout(LockCase):

    def test_hash__when_held__then_as_redisson_with_the_digest_as_field(self):
        name, mine = self.name(), token()
        self.held(name, token=mine, ttlMs=10000)
        digest = hashlib.sha256(b"anonymous\0" + mine.encode()).hexdigest()
        self.assertEqual(self.redis.call("HGETALL", name), [digest, "1"])
        self.assertTrue(9000 < self.redis.call("PTTL", name) <= 10000)
        for key in self.redis.call("KEYS", "*"):
            kind = self.redis.call("TYPE", key)
            dump = str(self.redis.call(*{"hash": ("HGETALL", key), "string": ("GET", key),
                                         "zset": ("ZRANGE", key, 0, -1)}[kind]))
            self.assertNotIn(mine, key + dump, "the secret stands in Redis")

    def test_release__then_message_0_on_the_channel_and_key_gone(self):
        name = self.name()
        heard = Subscriber(self.redis, lock_channel(name))
        self.addCleanup(heard.close)
        self.let_go(self.held(name))
        eventually(lambda: heard.messages() == ["0"], 5, "message")
        self.assertEqual(self.redis.call("EXISTS", name), 0)

    def test_java__when_it_holds__then_423_without_details_and_the_other_way_round(self):
        name = self.name()
        java = JavaLock(self.redis, name)
        self.addCleanup(java.close)
        self.assertTrue(java.try_once())
        holder = self.assert_problem(self.put(name), 423, "LCK-001")["holder"]
        self.assertEqual((holder["owner"], holder["fence"], holder["metadata"]), (None, None, None))
        self.assertTrue(25000 < holder["expiresInMs"] <= 30000)
        java.release()
        grant = self.held(name)
        self.assertFalse(java.try_once())
        self.let_go(grant)
        self.assertTrue(java.try_once())

    def test_type__when_no_plain_lock__then_lck_005_and_untouched(self):
        for command, kind in ((("SET", "{}", "x"), "string"), (("HSET", "{}", "mode", "read", "o", "1"), "rw"),
                              (("RPUSH", "{}", "x"), "list")):
            name = self.name()
            self.redis.call(command[0], name, *command[2:])
            with self.subTest(kind=kind):
                before = self.redis.call("DUMP", name)
                self.assert_problem(self.put(name), 409, "LCK-005", kind=kind)
                self.assertEqual(self.redis.call("DUMP", name), before)
                self.assert_problem(self.delete(name, token()), 410, "LCK-002", reason="unknown")
                status = self.http.get(self.path(name)).json
                self.assertEqual((status["kind"], status["held"], len(status["holders"])), (kind, True, kind == "rw"))

    def test_kind__when_registered_as_another__then_lck_005(self):
        name = self.name()
        self.let_go(self.held(name))
        self.assertGreater(self.redis.call("PTTL", "lockstock:lock:" + name), 86000000)
        self.redis.call("HSET", "lockstock:lock:" + name, "kind", "fair")
        self.assert_problem(self.put(name), 409, "LCK-005", kind="fair")


class RenewAndRelease(LockCase):

    def test_patch__when_held__then_200_and_ttl_is_now_plus_ttl(self):
        name = self.name()
        grant = self.held(name, ttlMs=5000, owner="me")
        reply = self.patch(name, grant["token"], ttlMs=60000)
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual((reply.json["fence"], reply.json["ttlMs"], reply.json["owner"], reply.json["kind"]),
                         (grant["fence"], 60000, "me", "lock"))
        self.assertTrue(59000 < self.redis.call("PTTL", name) <= 60000)
        self.assertEqual(self.patch(name, grant["token"], ttlMs=1000).status, 200)
        self.assertLessEqual(self.redis.call("PTTL", name), 1000)

    def test_patch__when_lost__then_410_with_the_reason_and_never_created(self):
        name = self.name()
        grant = self.held(name, ttlMs=100)
        eventually(lambda: not self.redis.call("EXISTS", name), 5, "expired")
        self.assert_problem(self.patch(name, grant["token"]), 410, "LCK-002", reason="expired", heldByOtherSince=None)
        self.assertEqual(self.redis.call("EXISTS", name), 0)
        before = time.time()
        other = self.held(name)
        lost = self.assert_problem(self.patch(name, grant["token"]), 410, "LCK-002", reason="expired")
        self.assertIn("T", lost["heldByOtherSince"])
        self.assertGreater(before + 5, time.time())
        self.assert_problem(self.delete(name, grant["token"]), 410, "LCK-002", reason="expired")
        self.assertEqual(self.patch(name, other["token"]).status, 200, "the other holds on")

    def test_patch__when_never_held__then_unknown(self):
        self.assert_problem(self.patch(self.name(), token()), 410, "LCK-002", reason="unknown")

    def test_patch__when_a_java_client_deleted_it__then_vanished(self):
        name = self.name()
        grant = self.held(name)
        self.redis.call("DEL", name)
        self.assert_problem(self.patch(name, grant["token"]), 410, "LCK-002", reason="vanished")

    def test_delete__when_repeated__then_204_again(self):
        name = self.name()
        grant = self.held(name)
        self.assertEqual(self.delete(name, grant["token"]).status, 204)
        self.assertEqual(self.delete(name, grant["token"]).status, 204)
        self.assertTrue(50000 < self.redis.call("PTTL", self.redis.call("KEYS", f"lockstock:gone:*:{name}")[0]) <= 60000)
        other = self.held(name)
        self.assertEqual(self.delete(name, grant["token"]).status, 204, "still, and it frees nobody")
        self.assertEqual(self.patch(name, other["token"]).status, 200)
        self.assert_problem(self.patch(name, grant["token"]), 410, "LCK-002", reason="released")

    def test_fence__when_another__then_410_and_nothing_happens(self):
        name, mine = self.name(), token()
        first = self.held(name, token=mine)
        self.let_go(first)
        second = self.held(name, token=mine)
        for call in (self.patch, self.delete):
            self.assert_problem(call(name, mine, fence=first["fence"]), 410, "LCK-002", reason="superseded")
        self.assertEqual(self.patch(name, mine, fence=second["fence"]).status, 200)
        self.assertEqual(self.delete(name, mine, fence=second["fence"]).status, 204)
        self.assertEqual(self.delete(name, mine, fence=second["fence"]).status, 204, "repeated")
        self.assert_problem(self.delete(name, mine, fence=first["fence"]), 410, "LCK-002")
        for bad in ("x", "0", "-1", ""):
            self.assert_problem(self.delete(name, mine, fence=bad), 400, "SYS-003")

    def test_token__when_missing_or_malformed__then_400(self):
        name = self.name()
        self.held(name)
        for headers in ({}, {"Lock-Token": "short"}, {"Lock-Token": "x" * 65}):
            for method in ("PATCH", "DELETE"):
                self.assert_problem(self.http.request(method, self.path(name), headers=headers), 400, "SYS-003")
        self.assertEqual(self.redis.call("EXISTS", name), 1)

    def test_records__when_released__then_little_is_kept_and_all_of_it_ends(self):
        name = self.name()
        self.let_go(self.held(name, metadata={"a": "b"}))
        for key in self.redis.call("KEYS", f"*{name}*"):
            self.assertGreater(self.redis.call("PTTL", key), 0, key)
        record = self.redis.call("HGETALL", "lockstock:lock:" + name)
        self.assertEqual(sorted(record[::2]), ["fence", "kind"])


class Look(LockCase):

    def test_get__when_held_and_free__then_status_without_token(self):
        name = self.name()
        self.assertEqual(self.http.get(self.path(name)).json,
                         {"name": name, "kind": None, "held": False, "mode": None, "holders": [], "fence": None,
                          "waiters": 0})
        grant = self.held(name, owner="o", metadata={})
        reply = self.http.get(self.path(name))
        self.assertNotIn(grant["token"], reply.body.decode())
        status = reply.json
        holder = status["holders"][0]
        self.assertEqual((status["held"], status["mode"], status["fence"], holder["owner"], holder["metadata"]),
                         (True, "exclusive", grant["fence"], "o", {}))
        self.let_go(grant)
        status = self.http.get(self.path(name)).json
        self.assertEqual((status["kind"], status["held"], status["fence"]), ("lock", False, grant["fence"]))
        self.assertEqual(self.http.request("HEAD", self.path(name)).status, 200)


class Fences(LockCase):

    def epoch(self):
        return self.held(self.name())["fence"] // SPAN

    def test_fences__when_many_names__then_each_grows(self):
        name, last = self.name(), 0
        for _ in range(5):
            grant = self.held(name)
            self.held(self.name())
            self.assertGreater(grant["fence"], last)
            last = grant["fence"]
            self.let_go(grant)

    def test_flushall__then_a_new_epoch_and_never_a_number_again(self):
        name = self.name()
        first = self.held(name)
        self.redis.call("FLUSHALL")
        self.assert_problem(self.patch(name, first["token"]), 410, "LCK-002", reason="unknown")
        second = self.held(name)
        self.assertEqual(second["fence"] // SPAN, first["fence"] // SPAN + 1)
        self.assertEqual(self.db.value("SELECT epoch FROM fence_epochs"), second["fence"] // SPAN)

    def test_restart__then_a_new_epoch_and_service_again(self):
        before = self.epoch()
        self.redis.stop()
        eventually(lambda: self.put(self.name()).status == 503, 5, "away")
        self.redis.start()
        self.until_ready()
        self.assertGreater(self.epoch(), before)

    def test_marker__when_a_good_one_stands__then_adopted_without_mysql(self):
        before = self.epoch()
        drawn = self.db.value("SELECT epoch FROM fence_epochs")
        other = self.instance("b").start()
        self.until_redis()
        client = other.http()
        self.addCleanup(client.close)
        reply = client.put(self.path(self.name()))
        self.assertEqual((reply.status, reply.json["fence"] // SPAN), (201, before))
        self.assertEqual(self.db.value("SELECT epoch FROM fence_epochs"), drawn)
        other.stop()

    def test_marker__when_of_another_server__then_a_new_epoch_above_it(self):
        self.epoch()
        self.redis.call("HSET", "lockstock:fence", "marker", "9000:" + "f" * 40)
        self.assertEqual(self.epoch(), 9001)

    def test_counter__when_used_up__then_a_new_epoch(self):
        before = self.epoch()
        for n in (SPAN - 1, SPAN - 64, SPAN):
            self.redis.call("HSET", "lockstock:fence", "n", n)
            self.assertEqual(self.epoch(), before + 1)
            before += 1

    def test_counter__when_gone__then_a_new_epoch(self):
        before = self.epoch()
        self.redis.call("HDEL", "lockstock:fence", "n")
        self.assertEqual(self.epoch(), before + 1)

    def test_post__when_higher_equal_lower__then_200_200_412(self):
        name = self.name()
        path = "/v1/fences/" + urllib.parse.quote(name, safe="")
        for fence, highest in ((5, 5), (5, 5), (7, 7)):
            reply = self.http.post(path, {"fence": fence})
            self.assertEqual((reply.status, reply.json), (200, {"highest": highest}))
        self.assert_problem(self.http.post(path, {"fence": 6}), 412, "LCK-006", highest=7)
        self.assert_problem(self.http.post(path, {"fence": 0}), 400, "SYS-003")
        self.assertEqual(self.http.post(path, {"fence": 2 ** 53 - 1}).status, 200)

    def test_post__when_many_at_once__then_the_mark_is_the_highest(self):
        path = "/v1/fences/" + urllib.parse.quote(self.name(), safe="")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: self.on_own_connection("POST", path, {"fence": n}), range(1, 60)))
        self.assert_problem(self.http.post(path, {"fence": 58}), 412, "LCK-006", highest=59)


class RedissonFences(LockCase):
    ENV = {"LOCKSTOCK_REDISSON_FENCED": "java/,shared/"}

    def test_fence__when_a_java_service_draws_too__then_they_go_up_together(self):
        for name in ("java/a", "shared/b"):
            counter = "redisson_lock_token:{" + name + "}"
            first = self.held(name)
            self.assertEqual(int(self.redis.call("GET", counter)), first["fence"])
            self.let_go(first)
            java = self.redis.call("INCRBY", counter, 1000)
            second = self.held(name)
            self.assertEqual(second["fence"], java + 1)
            self.assertEqual(int(self.redis.call("GET", counter)), second["fence"])
        self.held("javanese")
        self.assertEqual(self.redis.call("EXISTS", "redisson_lock_token:{javanese}"), 0)


class Away(LockCase):

    def tearDown(self):
        self.redis.thaw()
        if not self.redis.process.alive():
            self.redis.start()
        self.until_ready()

    def test_closed_and_open__when_redis_is_down__then_503_and_unprotected(self):
        grant = self.held(self.name())
        self.redis.stop()
        eventually(lambda: self.put(self.name()).status == 503, 5, "down")
        reply = self.put(self.name())
        self.assert_problem(reply, 503, "LCK-003")
        self.assertEqual(reply.headers["retry-after"], "1")
        reply = self.put(self.name(), onRedisDown="open", waitMs=1000)
        self.assertEqual((reply.status, reply.json["safety"], reply.json["degraded"], reply.json["fence"]),
                         (201, "none", True, None))
        self.assertEqual(reply.headers["lockstock-degraded"], "redis")
        self.assert_problem(self.patch(grant["name"], grant["token"]), 503, "LCK-003")
        self.assert_problem(self.delete(grant["name"], grant["token"]), 503, "LCK-003")
        self.assert_problem(self.http.get(self.path(grant["name"])), 503, "LCK-003")

    def test_frozen__when_it_thaws__then_nothing_is_held_that_nobody_knows_of(self):
        names = [self.name() for _ in range(20)]
        self.held(self.name())
        self.redis.freeze()
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            replies = list(pool.map(self.service_put, names))
        self.assertEqual({r.status for r in replies}, {503}, replies)
        self.redis.thaw()
        self.until_ready()
        self.assertEqual([n for n in names if self.redis.call("EXISTS", n)], [])

    def test_frozen__when_a_release_was_unanswered__then_it_is_done_before_the_next_call(self):
        grant = self.held(self.name())
        self.redis.freeze()
        self.assert_problem(self.delete(grant["name"], grant["token"]), 503, "LCK-003")
        self.redis.thaw()
        self.until_ready()
        self.assertEqual(self.put(grant["name"]).status, 201)


if __name__ == "__main__":
    main()
