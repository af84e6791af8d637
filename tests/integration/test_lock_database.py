"""Names kept in the database: taken, renewed, released, waited for, with Redis, without it, and after it lost everything."""

import concurrent.futures
import os
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.locks import LockCase, Parked, token
from support.resp import JavaLock
from support.wait import eventually

SPAN = 2 ** 32


class DatabaseCase(LockCase):

    def put(self, name, http=None, **body):
        return super().put(name, http, **{"store": "database", **body})

    def service_put(self, name, number=0, **body):
        return super().service_put(name, number, **{"store": "database", **body})

    def status(self, name, http=None):
        reply = (http or self.http).get(self.path(name))
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def parked(self, name, number=0, **body):
        one = Parked(self.services[number].port, self.path(name), {"store": "database", "waitMs": 15000, **body})
        self.addCleanup(one.close)
        return one

    def until_waiting(self, name, count):
        eventually(lambda: self.status(name)["waiters"] == count, 5, f"{count} waiters")

    def row(self, name):
        return self.db.rows("SELECT * FROM lock_leases WHERE name=%s", name)[0]

    def without_redis(self):
        self.stack.redis.kill()
        self.addCleanup(self.heal)
        self.until_ready("redis")

    def heal(self):
        self.stack.heal()
        self.until_ready()


class Acquire(DatabaseCase):

    def test_put__when_free__then_201_with_everything_and_only_a_digest_in_the_row(self):
        name, mine = self.name(), token()
        reply = self.put(name, token=mine, owner="billing-1", ttlMs=20000, metadata={"job": 7})
        self.assertEqual(reply.status, 201, reply)
        grant = reply.json
        self.assertEqual({k: grant[k] for k in ("name", "status", "token", "owner", "kind", "mode", "ttlMs", "safety",
                                                "degraded")},
                         {"name": name, "status": "held", "token": mine, "owner": "billing-1", "kind": "lock",
                          "mode": "exclusive", "ttlMs": 20000, "safety": "database", "degraded": False})
        self.assertGreaterEqual(grant["fence"], SPAN)
        self.assertTrue(19000 < grant["safeForMs"] < 20000, grant)
        self.assertNotIn(mine, str(self.row(name)))
        self.assertEqual(self.redis.call("EXISTS", name), 0)

    def test_put__when_held__then_423_says_by_whom(self):
        name = self.name()
        grant = self.held(name, owner="first", metadata={"a": [1, "ä"]})
        holder = self.assert_problem(self.put(name), 423, "LCK-001", waiters=0)["holder"]
        self.assertEqual((holder["owner"], holder["fence"], holder["metadata"]), ("first", grant["fence"], {"a": [1, "ä"]}))
        self.assertTrue(0 <= holder["heldForMs"] < 5000 and 25000 < holder["expiresInMs"] <= 30000, holder)
        self.assertEqual(self.status(name)["holders"][0]["owner"], "first")

    def test_put__when_repeated__then_200_same_fence_and_not_extended(self):
        name, mine = self.name(), token()
        first = self.held(name, token=mine, ttlMs=5000)
        time.sleep(0.05)
        again = self.put(name, token=mine, ttlMs=60000)
        self.assertEqual((again.status, again.json["fence"]), (200, first["fence"]))
        self.assertLess(again.json["safeForMs"], 4900)

    def test_put__when_sent_30_times_in_parallel__then_one_grant(self):
        name, mine = self.name(), token()
        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            replies = list(pool.map(lambda _: self.service_put(name, token=mine, waitMs=3000), range(30)))
        self.assertEqual(len({r.json["fence"] for r in replies}), 1, replies)
        self.assertEqual(sorted(r.status for r in replies), [200] * 29 + [201])

    def test_put__when_the_lease_is_over__then_the_next_has_it_and_the_first_is_told(self):
        name = self.name()
        first = self.held(name, ttlMs=200)
        second = self.put(name, waitMs=5000)
        self.assertEqual(second.status, 201, second)
        self.assertGreater(second.json["fence"], first["fence"])
        document = self.assert_problem(self.patch(name, first["token"], ttlMs=500), 410, "LCK-002", reason="expired")
        self.assertIsNotNone(document["heldByOtherSince"])

    def test_kind__when_not_lock_or_a_set__then_400(self):
        name = self.name()
        self.assert_problem(self.put(name, store="disk"), 400, "SYS-003")
        self.assert_problem(self.http.put("/v1/locks", {"names": [name], "store": "database"}), 400, "SYS-003")


class RenewAndRelease(DatabaseCase):

    def test_renew__then_it_lives_on(self):
        name = self.name()
        grant = self.held(name, ttlMs=1000)
        reply = self.patch(name, grant["token"], ttlMs=30000)
        self.assertEqual((reply.status, reply.json["fence"], reply.json["safety"], reply.json["owner"]),
                         (200, grant["fence"], "database", grant["owner"]), reply)
        time.sleep(1.1)
        self.assertEqual(self.put(name).status, 423)

    def test_release__when_repeated__then_204_and_a_later_holder_keeps_it(self):
        name = self.name()
        grant = self.held(name)
        self.let_go(grant)
        self.let_go(grant)
        later = self.held(name)
        self.assertEqual(self.delete(name, grant["token"]).status, 204, "a repeat within a minute")
        self.assertEqual(self.status(name)["fence"], later["fence"])
        self.assertTrue(self.status(name)["held"])

    def test_lost__when_unknown_or_another_fence__then_410_with_the_reason(self):
        name = self.name()
        grant = self.held(name, ttlMs=100)
        time.sleep(0.15)
        self.assert_problem(self.delete(name, grant["token"]), 410, "LCK-002", reason="expired", heldByOtherSince=None)
        self.assert_problem(self.patch(name, token(), ttlMs=500), 410, "LCK-002", reason="unknown")
        again = self.held(name, token=grant["token"])
        self.assert_problem(self.delete(name, grant["token"], fence=grant["fence"]), 410, "LCK-002", reason="superseded")
        self.assertEqual(self.delete(name, grant["token"], fence=again["fence"]).status, 204)


class Forced(DatabaseCase):

    def force(self, name):
        return self.http.request("DELETE", self.path(name) + "?force=true&reason=stuck")

    def test_force__when_held__then_free_audited_and_the_holder_is_told(self):
        name = self.name()
        grant = self.held(name, owner="stuck-1")
        waiter = self.parked(name)
        self.until_waiting(name, 1)
        self.assertEqual(self.force(name).status, 204)
        got = waiter.reply()
        self.assertEqual(got.status, 201)
        audit = self.db.rows("SELECT * FROM lock_audit WHERE name=%s", name)[0]
        self.assertEqual((audit["was_held"], audit["holder_owner"], audit["holder_fence"]), (1, "stuck-1", grant["fence"]))
        self.assertTrue(grant["fence"] < audit["fence"] < got.json["fence"])
        self.assert_problem(self.patch(name, grant["token"], ttlMs=500), 410, "LCK-002", reason="forced")

    def test_force__when_free_or_redis_is_away__then_204_too(self):
        name = self.name()
        grant = self.held(name)
        self.let_go(grant)
        self.assertEqual(self.force(name).status, 204)
        again = self.held(name)
        self.without_redis()
        self.assertEqual(self.force(name).status, 204)
        self.assertGreater(self.held(name)["fence"], again["fence"])
        self.assert_problem(self.force(self.name()), 503, "LCK-003")


class Waiting(DatabaseCase):
    INSTANCES = 2

    def test_release__then_the_first_waiter_has_it_at_once_then_the_next(self):
        name = self.name()
        grant = self.held(name)
        waiters = []
        for number in range(3):
            waiters.append(self.parked(name, owner=f"w{number}"))
            self.until_waiting(name, number + 1)
        fence = grant["fence"]
        for number, waiter in enumerate(waiters):
            begun = time.monotonic()
            self.let_go(grant)
            grant = waiter.reply().json
            self.assertEqual(grant["owner"], f"w{number}")
            self.assertGreater(grant["fence"], fence)
            self.assertLess(time.monotonic() - begun, 0.5, "not by polling")
            fence = grant["fence"]

    def test_release__when_on_the_other_instance__then_woken_by_the_message(self):
        name = self.name()
        grant = self.held(name, self.client(1))
        waiter = self.parked(name)
        self.until_waiting(name, 1)
        eventually(lambda: self.redis.call("PUBSUB", "NUMSUB", "redisson_lock__channel:{" + name + "}")[1] == 1, 5, "")
        begun = time.monotonic()
        self.let_go(grant, self.client(1))
        self.assertEqual(waiter.reply().status, 201)
        self.assertLess(time.monotonic() - begun, 0.5)

    def test_waiter__when_its_client_hangs_up__then_never_given(self):
        name = self.name()
        grant = self.held(name)
        gone = self.parked(name)
        self.until_waiting(name, 1)
        gone.close()
        self.until_waiting(name, 0)
        self.let_go(grant)
        self.assertEqual(self.put(name, owner="next").status, 201)

    def test_holders__when_many_over_two_instances__then_one_at_a_time_and_fences_grow(self):
        name, inside, seen = self.name(), [], []

        def work(number):
            reply = self.service_put(name, number % 2, waitMs=20000)
            self.assertEqual(reply.status, 201, reply)
            inside.append(number)
            self.assertEqual(len(inside), 1)
            seen.append(reply.json["fence"])
            inside.remove(number)
            done = self.on_own_connection("DELETE", self.path(name), None, (number + 1) % 2,
                                          headers={"Lock-Token": reply.json["token"]})
            self.assertEqual(done.status, 204, done)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for future in [pool.submit(work, n) for n in range(40)]:
                future.result()
        self.assertEqual(seen, sorted(set(seen)))

    def test_without_redis__then_taken_renewed_waited_for_and_released(self):
        name = self.name()
        grant = self.held(name)
        self.without_redis()
        self.assertEqual(self.put(name).status, 423)
        self.assertEqual(self.patch(name, grant["token"], ttlMs=30000).json["safety"], "database")
        self.assertEqual(self.status(name)["holders"][0]["fence"], grant["fence"])
        waiter = self.parked(name, 1)
        eventually(lambda: self.status(name, self.client(1))["waiters"] == 1, 5, "waiting")
        begun = time.monotonic()
        self.let_go(grant)
        self.assertEqual(waiter.reply().status, 201)
        self.assertLess(time.monotonic() - begun, 2.5, "found by polling")
        other = self.name()
        fresh = self.held(other)
        self.assertEqual((fresh["safety"], fresh["degraded"]), ("database", False))


class Binding(DatabaseCase):

    def test_store__when_the_name_is_in_the_database__then_not_given_by_redis(self):
        name = self.name()
        grant = self.held(name)
        self.assert_problem(self.put(name, store="redis"), 409, "LCK-005", kind="database")
        self.let_go(grant)
        self.assert_problem(self.put(name, store="redis"), 409, "LCK-005", kind="database")
        self.assertEqual(self.put(name).status, 201)

    def test_store__when_the_name_is_in_redis__then_not_given_by_the_database(self):
        name = self.name()
        grant = self.held(name, store="redis")
        self.assert_problem(self.put(name), 409, "LCK-005", kind="lock")
        eventually(lambda: self.row(name)["holder"] is None, 5, "what was taken meanwhile is given back")
        self.let_go(grant)

    def test_store__when_a_java_service_holds_it__then_lck_005_and_its_lock_stays(self):
        name = self.name()
        java = JavaLock(self.redis, name)
        self.addCleanup(java.close)
        self.assertTrue(java.try_once())
        self.assert_problem(self.put(name), 409, "LCK-005", kind="lock")
        self.assertEqual(self.redis.call("EXISTS", name), 1)

    def test_store__when_redis_lost_everything__then_a_held_name_stays_bound(self):
        names = [self.name() for _ in range(300)]
        grants = {name: self.held(name) for name in names}
        self.redis.call("FLUSHALL")
        for name in (names[0], names[150], names[299]):
            self.assert_problem(self.put(name, store="redis"), 409, "LCK-005", kind="database")
            self.assertEqual(self.patch(name, grants[name]["token"], ttlMs=30000).status, 200)
        self.assertEqual(self.put(self.name(), store="redis").status, 201)


class MovingCase(DatabaseCase):
    def epoch(self):
        return int(self.redis.call("HGET", "lockstock:fence", "marker").split(":")[0])

    def connections(self):
        """Ids of the service's connections that ask."""
        clients = [dict(word.split("=", 1) for word in line.split(" ")) for line in
                   self.redis.call("CLIENT", "LIST").splitlines()]
        return {c["id"] for c in clients if c["sub"] == "0" and not c["cmd"].startswith("client")}

    def look_again(self):
        """Redis has come: what is ahead of it is looked at."""
        before = self.connections()
        for one in before:
            self.redis.call("CLIENT", "KILL", "ID", one)
        eventually(lambda: self.connections() - before, 10, "connected again")
        self.until_ready()

    def let_time_pass(self, name, hours):
        self.db.run("UPDATE lock_leases SET used_at = used_at - INTERVAL %s HOUR WHERE name=%s", hours, name)

    def given_up(self):
        """A name with fences ahead of those of Redis, free; and the epoch that stands there."""
        name = self.name()
        self.let_go(self.held(self.name(), store="redis"))
        epoch = self.epoch()
        self.let_go(self.held(name))
        self.assertGreater(self.row(name)["fence"], (epoch + 1) * SPAN - 1)
        return name, epoch


class Moving(MovingCase):
    """A name that was kept in the database and goes to Redis when nobody has used it for a day."""

    def test_move__when_a_day_has_passed__then_fences_go_on(self):
        name, epoch = self.given_up()
        self.let_time_pass(name, 7)
        self.look_again()
        eventually(lambda: self.epoch() > epoch, 10, "a new epoch")
        last = self.row(name)["fence"]
        self.redis.call("DEL", "lockstock:lock:" + name)
        moved = self.held(name, store="redis")
        self.assertGreater(moved["fence"], last)
        self.let_go(moved)
        self.redis.call("DEL", "lockstock:lock:" + name)
        self.assertGreater(self.held(name)["fence"], moved["fence"])

    def test_move__when_in_use_lately_or_reached__then_no_epoch_is_drawn(self):
        name, epoch = self.given_up()
        self.let_time_pass(name, 5)
        self.look_again()
        self.let_go(self.held(self.name(), store="redis"))
        self.assertEqual(self.epoch(), epoch)
        self.let_time_pass(name, 2)
        self.look_again()
        eventually(lambda: self.epoch() > epoch, 10, "a new epoch")
        epoch = self.epoch()
        self.look_again()
        self.let_go(self.held(self.name(), store="redis"))
        self.assertEqual(self.epoch(), epoch)

    def test_move__when_many_wait_and_hold_meanwhile__then_nobody_notices(self):
        name, epoch = self.given_up()
        other = self.name()
        grant = self.held(other, store="redis")
        self.let_time_pass(name, 7)
        self.look_again()
        eventually(lambda: self.epoch() > epoch, 10, "a new epoch")
        self.assertEqual(self.patch(other, grant["token"], ttlMs=30000).status, 200)
        waiter = self.parked(other, store="redis")
        self.until_waiting(other, 1)
        self.let_go(grant)
        got = waiter.reply()
        self.assertEqual(got.status, 201)
        self.assertGreater(got.json["fence"], (epoch + 1) * SPAN)

    def test_move__when_the_database_is_away__then_it_is_looked_at_again_later(self):
        name, epoch = self.given_up()
        self.let_time_pass(name, 7)
        self.stack.mysql.kill()
        self.addCleanup(self.stack.heal)
        self.look_again()
        self.let_go(self.held(self.name(), store="redis"))
        self.stack.mysql.start()
        self.until_served()
        self.look_again()
        eventually(lambda: self.epoch() > epoch, 10, "a new epoch")

    def test_renewal__then_the_name_stays_bound_for_a_day_from_now(self):
        one, two, mine = self.name(), self.name(), token()
        for name in (one, two):
            self.held(name, token=mine)
            self.redis.call("PEXPIRE", "lockstock:lock:" + name, 5000)
        self.assertEqual(self.patch(one, mine, ttlMs=60000).status, 200)
        self.assertEqual(self.http.request("PATCH", "/v1/locks", headers={"Lock-Token": mine}).status, 200)
        for name in (one, two):
            eventually(lambda: self.redis.call("PTTL", "lockstock:lock:" + name) > 86400000, 5, "bound")  # pylint: disable=cell-var-from-loop


class MovingUnseen(MovingCase):
    """The proof: nobody looks."""

    FAULTS = "no-look-ahead"

    def test_move__when_nobody_looks_ahead__then_fences_go_back(self):
        name, _ = self.given_up()
        self.let_time_pass(name, 7)
        self.look_again()
        self.redis.call("DEL", "lockstock:lock:" + name)
        self.assertLess(self.held(name, store="redis")["fence"], self.row(name)["fence"])


class Session(DatabaseCase):
    """Everything a token holds, wherever it is kept."""

    def all_of(self, method, secret, **body):
        return self.http.request(method, "/v1/locks", body or None, headers={"Lock-Token": secret})

    def test_heartbeat__when_in_both_stores__then_each_is_renewed(self):
        mine, lock, permits = token(), self.name(), self.name()
        names = [self.name() for _ in range(130)]
        grants = {name: self.held(name, token=mine, ttlMs=20000) for name in names}
        grants[lock] = self.held(lock, store="redis", token=mine, ttlMs=20000)
        grants[permits] = self.http.put("/v1/semaphores/" + urllib.parse.quote(permits, safe=""),
                                        {"limit": 2, "token": mine, "ttlMs": 20000}).json
        reply = self.all_of("PATCH", mine, ttlMs=60000)
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual({l["name"]: l["fence"] for l in reply.json["locks"]}, {n: g["fence"] for n, g in grants.items()})
        self.assertEqual((reply.json["lost"], reply.json.get("degraded")), ([], None))
        self.assertTrue(59000 < reply.json["safeForMs"] < 60000, reply.json["safeForMs"])
        self.assertTrue(all(self.status(n)["holders"][0]["expiresInMs"] > 55000 for n in (names[0], names[129])))

    def test_heartbeat__when_some_are_lost__then_each_is_told_once_with_the_reason(self):
        mine = token()
        kept, over, taken, forced = (self.name() for _ in range(4))
        self.held(kept, token=mine)
        for name in (over, taken):
            self.held(name, token=mine, ttlMs=100)
        self.held(forced, token=mine)
        self.assertEqual(self.put(taken, waitMs=5000).status, 201)
        self.http.request("DELETE", self.path(forced) + "?force=true&reason=stuck")
        eventually(lambda: not self.status(over)["held"], 5, "over")
        reply = self.all_of("PATCH", mine)
        self.assertEqual(sorted((l["name"], l["reason"]) for l in reply.json["lost"]),
                         sorted([(over, "expired"), (taken, "expired"), (forced, "forced")]))
        self.assertEqual([l["name"] for l in reply.json["locks"]], [kept])
        self.assertEqual(self.all_of("PATCH", mine).json["lost"], [])
        self.assert_problem(self.patch(over, mine), 410, "LCK-002", reason="expired")
        self.assertEqual(self.put(over).status, 201)

    def test_release__when_in_both_stores__then_all_free_and_who_waits_is_woken(self):
        mine, lock, name, gone = token(), self.name(), self.name(), self.name()
        self.held(lock, store="redis", token=mine)
        self.held(name, token=mine)
        self.held(gone, token=mine, ttlMs=100)
        waiter = self.parked(name)
        self.until_waiting(name, 1)
        eventually(lambda: not self.status(gone)["held"], 5, "over")
        begun = time.monotonic()
        reply = self.all_of("DELETE", mine)
        self.assertEqual(sorted(reply.json["released"]), sorted([lock, name]))
        self.assertEqual(reply.json["lost"], [{"name": gone, "reason": "expired"}])
        self.assertEqual(waiter.reply().status, 201)
        self.assertLess(time.monotonic() - begun, 0.9, "not by polling")
        self.assertEqual(self.all_of("DELETE", mine).json, {"released": [], "lost": []})
        self.assert_problem(self.all_of("PATCH", mine), 410, "LCK-002")

    def test_heartbeat__when_redis_is_away__then_what_the_database_keeps_is_renewed(self):
        mine, other, name = token(), token(), self.name()
        self.held(name, token=mine, ttlMs=5000)
        self.held(self.name(), store="redis", token=other)
        self.without_redis()
        reply = self.all_of("PATCH", mine, ttlMs=60000)
        self.assertEqual((reply.status, [l["name"] for l in reply.json["locks"]], reply.json["degraded"]),
                         (200, [name], ["redis"]), reply)
        self.assertGreater(self.status(name)["holders"][0]["expiresInMs"], 50000)
        self.assert_problem(self.all_of("PATCH", other), 503, "LCK-003")
        self.assertEqual(self.all_of("DELETE", mine).json, {"released": [name], "lost": [], "degraded": ["redis"]})

    def test_heartbeat__when_the_database_hangs_or_is_away__then_leases_in_redis_are_renewed_in_time(self):
        mine, name = token(), self.name()
        self.held(name, store="redis", token=mine)
        self.stack.mysql.process.freeze()
        self.addCleanup(self.stack.mysql.process.thaw)
        begun = time.monotonic()
        reply = self.all_of("PATCH", mine, ttlMs=60000)
        self.assertLess(time.monotonic() - begun, 4)
        self.assertEqual((reply.status, [l["name"] for l in reply.json["locks"]], reply.json["degraded"]),
                         (200, [name], ["database"]), reply)
        self.assertGreater(self.redis.call("PTTL", name), 50000)
        self.assert_problem(self.all_of("PATCH", token()), 503, "LCK-003")
        self.stack.mysql.process.thaw()
        eventually(lambda: self.all_of("PATCH", mine).json.get("degraded") is None, 20, "the database answers again")


class Listed(DatabaseCase):

    def listed(self, prefix, **query):
        """All pages: the items, and how many pages there were."""
        items, cursor, pages = [], None, 0
        while pages == 0 or cursor is not None:
            words = urllib.parse.urlencode({"prefix": prefix, **query, **({"cursor": cursor} if cursor else {})})
            reply = self.http.get("/v1/locks?" + words)
            self.assertEqual(reply.status, 200, reply)
            self.assertLessEqual(len(reply.json["items"]), query.get("limit", 50))
            items, cursor, pages = items + reply.json["items"], reply.json["nextCursor"], pages + 1
        return items, pages

    def fill(self, base):
        """Names of all kinds and both stores, in no order: name -> (kind, store)."""
        wanted = {}
        for number, (kind, store) in enumerate([("lock", "database"), ("lock", "redis"), ("semaphore", "redis"),
                                                ("fair", "redis"), ("rw", "redis"), ("lock", "database")] * 4):
            name = base + "zyxwvutsrqponmlkjihgfedcba"[number] + ("ä" if number % 2 else "")
            wanted[name] = (kind, store)
            if kind == "semaphore":
                reply = self.http.put("/v1/semaphores/" + urllib.parse.quote(name, safe=""), {"limit": 3, "permits": 2})
            else:
                reply = self.put(name, kind=kind, store=store, owner="me")
            self.assertEqual(reply.status, 201, reply)
        return wanted

    def test_list__when_of_all_kinds_and_stores__then_each_once_in_order_whatever_the_page(self):
        base = self.name() + "/"
        wanted = self.fill(base)
        self.held(base[:-1] + "0")
        self.let_go(self.held(base + "released"))
        for limit in (1, 2, 5, 50):
            items, pages = self.listed(base, limit=limit)
            with self.subTest(limit=limit):
                self.assertEqual([i["name"] for i in items], sorted(wanted, key=str.encode))
                self.assertEqual({i["name"]: (i["kind"], i["store"]) for i in items}, wanted)
                self.assertGreaterEqual(pages, len(wanted) / limit)
        self.assertTrue(all(i["held"] and i["holders"] for i in items))
        permits = next(i for i in items if i["kind"] == "semaphore")
        self.assertEqual((permits["limit"], permits["available"], permits["holders"][0]["permits"]), (3, 1, 2))
        self.assertNotIn("token", str(items))

    def test_list__when_leases_are_over__then_not_shown_and_out_of_the_index(self):
        base = self.name() + "/"
        self.held(base + "d", ttlMs=100)
        path = "/v1/semaphores/" + urllib.parse.quote(base + "s", safe="")
        self.assertEqual(self.http.put(path, {"limit": 1, "ttlMs": 100}).status, 201)
        self.assertEqual(len(self.listed(base)[0]), 2)
        eventually(lambda: self.listed(base)[0] == [], 5, "nothing is held")
        self.assertIsNone(self.redis.call("ZSCORE", "lockstock:names", base + "s"))
        grant = self.http.put(path, {"limit": 1}).json
        self.assertEqual(len(self.listed(base)[0]), 1)
        self.http.request("DELETE", path, headers={"Lock-Token": grant["token"]})
        self.assertIsNone(self.redis.call("ZSCORE", "lockstock:names", base + "s"))

    def test_list__when_a_store_is_away__then_the_other_ones_names_and_a_word_about_it(self):
        base = self.name() + "/"
        wanted = self.fill(base)
        for away, stop in (("database", self.stack.mysql.kill), ("redis", self.stack.redis.kill)):
            stop()
            self.addCleanup(self.heal)
            eventually(lambda: self.http.get("/v1/locks").json.get("degraded") == [away], 10, "seen")  # pylint: disable=cell-var-from-loop
            reply = self.http.get("/v1/locks?limit=100&prefix=" + urllib.parse.quote(base, safe=""))
            left = [n for n, (_, store) in wanted.items() if store != away]
            self.assertEqual((reply.json["degraded"], [i["name"] for i in reply.json["items"]]),
                             ([away], sorted(left, key=str.encode)))
            self.heal()
            eventually(lambda: self.http.get("/v1/locks").json.get("degraded") is None, 20, "back")


class NoRedisAtAll(DatabaseCase):
    ENV = {"LOCKSTOCK_REDIS_URL": ""}

    def test_put__then_taken_waited_for_and_released(self):
        name = self.name()
        grant = self.held(name)
        self.assertEqual(self.put(name).status, 423)
        waiters = []
        for number in range(2):
            waiters.append(self.parked(name, owner=f"w{number}"))
            self.until_waiting(name, number + 1)
        for number, waiter in enumerate(waiters):
            self.let_go(grant)
            grant = waiter.reply().json
            self.assertEqual((grant["owner"], grant["safety"]), (f"w{number}", "database"))
        self.assertEqual(self.status(name)["fence"], grant["fence"])
        self.assert_problem(self.put(name, store="redis"), 503, "LCK-003")
        self.assert_problem(self.patch(name, token(), ttlMs=500), 503, "LCK-003")

    def test_session_and_list__then_nothing_is_missed(self):
        name, mine = self.name(), token()
        self.held(name, token=mine)
        listed = self.http.get("/v1/locks?prefix=" + urllib.parse.quote(name, safe="")).json
        self.assertEqual(([i["name"] for i in listed["items"]], listed.get("degraded")), ([name], None))
        for method, word in (("PATCH", "locks"), ("DELETE", "released")):
            reply = self.http.request(method, "/v1/locks", headers={"Lock-Token": mine})
            self.assertEqual((len(reply.json[word]), reply.json.get("degraded")), (1, None), reply)


class DatabaseAway(DatabaseCase):

    def test_put__when_the_database_is_away__then_503_and_true_again_afterwards(self):
        name = self.name()
        grant = self.held(name, ttlMs=60000)
        self.stack.mysql.kill()
        self.addCleanup(self.stack.heal)
        self.assert_problem(self.put(name), 503, "LCK-003")
        self.assert_problem(self.patch(name, grant["token"], ttlMs=60000), 503, "LCK-003")
        self.stack.heal()
        eventually(lambda: self.patch(name, grant["token"], ttlMs=60000).status == 200, 20, "renewed")
        # A worker whose connection the kill broke a moment ago may answer one more 503.
        eventually(lambda: self.put(name).status == 423, 20, "still held")


if __name__ == "__main__":
    main()
