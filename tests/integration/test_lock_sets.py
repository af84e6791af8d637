"""Many names at once: a token's session, sets, the list, forced releases, the sweep of the index."""

import concurrent.futures
import hashlib
import json
import os
import random
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.locks import LockCase, Parked, token
from support.wait import SEED, eventually


class Session(LockCase):

    def all_of(self, method, secret, **body):
        return self.http.request(method, "/v1/locks", body or None, headers={"Lock-Token": secret})

    def test_heartbeat__when_many_names__then_each_is_renewed_and_each_loss_told_once(self):
        mine = token()
        grants = [self.held(self.name(), token=mine, ttlMs=5000) for _ in range(150)]
        lost = grants[70]
        self.redis.call("DEL", lost["name"])
        reply = self.all_of("PATCH", mine, ttlMs=60000)
        self.assertEqual(reply.status, 200, reply)
        kept = [g for g in grants if g is not lost]
        self.assertEqual({l["name"]: l["fence"] for l in reply.json["locks"]}, {g["name"]: g["fence"] for g in kept})
        self.assertEqual(reply.json["lost"], [{"name": lost["name"], "reason": "vanished"}])
        self.assertTrue(59000 < reply.json["safeForMs"] < 60000)
        self.assertTrue(all(self.redis.call("PTTL", g["name"]) > 59000 for g in kept))
        self.assertEqual(self.all_of("PATCH", mine).json["lost"], [])

    def test_heartbeat__when_nothing_is_held__then_410(self):
        mine = token()
        self.assert_problem(self.all_of("PATCH", mine), 410, "LCK-002", reason="unknown")
        grant = self.held(self.name(), token=mine)
        self.let_go(grant)
        self.assert_problem(self.all_of("PATCH", mine), 410, "LCK-002")

    def test_release__when_many_names__then_all_free_and_waiters_go_on(self):
        mine = token()
        grants = [self.held(self.name(), token=mine) for _ in range(70)]
        other = self.held(self.name())
        waiter = Parked(self.service.port, self.path(grants[3]["name"]), {"waitMs": 10000})
        self.addCleanup(waiter.close)
        eventually(lambda: self.http.get(self.path(grants[3]["name"])).json["waiters"] == 1, 5, "queued")
        reply = self.all_of("DELETE", mine)
        self.assertEqual(reply.status, 200)
        self.assertEqual(sorted(reply.json["released"]), sorted(g["name"] for g in grants))
        self.assertEqual(reply.json["lost"], [])
        self.assertEqual(waiter.reply(5).status, 201)
        self.assertEqual(self.redis.call("EXISTS", other["name"]), 1)
        self.assertEqual(self.all_of("DELETE", mine).json, {"released": [], "lost": []})
        self.assertEqual(self.redis.call("EXISTS", "lockstock:token:" + hashlib.sha256(b"anonymous\0" + mine.encode())
                                         .hexdigest()), 0)

    def test_session__when_header_is_missing__then_400(self):
        for method in ("PATCH", "DELETE"):
            self.assert_problem(self.http.request(method, "/v1/locks"), 400, "SYS-003")

    def test_token__when_it_holds_10000_names__then_429_for_more(self):
        mine = token()
        grant = self.held(self.name(), token=mine)
        key = "lockstock:token:" + hashlib.sha256(b"anonymous\0" + mine.encode()).hexdigest()
        self.redis.call("EVAL", "for i = 1, 9999 do redis.call('ZADD', KEYS[1], 0, 'x' .. i) end", 1, key)
        self.assert_problem(self.put(self.name(), token=mine), 429, "SYS-010")
        self.assertEqual(self.put(grant["name"], token=mine).status, 200)


class Sets(LockCase):

    def put_set(self, names, http=None, **body):
        return (http or self.http).put("/v1/locks", dict(body, names=names))

    def test_set__when_all_free__then_each_has_a_fence_in_the_order_asked(self):
        names = [self.name() for _ in range(5)]
        random.Random(SEED).shuffle(names)
        reply = self.put_set(names, ttlMs=10000, owner="o")
        self.assertEqual(reply.status, 201, reply)
        self.assertEqual([l["name"] for l in reply.json["locks"]], names)
        for lock in reply.json["locks"]:
            self.assertEqual(self.http.get(self.path(lock["name"])).json["fence"], lock["fence"])
        again = self.put_set(names, token=reply.json["token"])
        self.assertEqual((again.status, again.json["locks"]), (200, reply.json["locks"]))
        self.assertEqual(self.delete(names[0], reply.json["token"]).status, 204)

    def test_set__when_one_is_held__then_none_is_taken_and_it_is_named(self):
        names = [self.name() for _ in range(4)]
        self.held(names[2], owner="blocker")
        document = self.assert_problem(self.put_set(names), 423, "LCK-001", name=names[2])
        self.assertEqual(document["holder"]["owner"], "blocker")
        self.assertEqual([self.redis.call("EXISTS", n) for n in names], [0, 0, 1, 0])

    def test_set__when_it_holds_some_already__then_those_are_kept_as_they_are(self):
        names, mine = [self.name() for _ in range(3)], token()
        first = self.held(names[1], token=mine, ttlMs=5000)
        reply = self.put_set(names, token=mine, ttlMs=60000)
        self.assertEqual(reply.status, 201)
        self.assertEqual(reply.json["locks"][1]["fence"], first["fence"])
        self.assertLessEqual(reply.json["ttlMs"], 5000)
        self.assertLessEqual(self.redis.call("PTTL", names[1]), 5000)

    def test_set__when_it_waits__then_granted_when_the_last_is_free_whichever_order(self):
        names = [self.name() for _ in range(3)]
        holds = [self.held(n) for n in names]
        waiter = Parked(self.service.port, "/v1/locks", {"names": names, "waitMs": 20000})
        self.addCleanup(waiter.close)
        for grant in (holds[1], holds[0]):
            self.let_go(grant)
            self.assertFalse(waiter.answered())
        self.let_go(holds[2])
        self.assertEqual(waiter.reply(5).status, 201)

    def test_set__when_it_waits__then_it_holds_nothing(self):
        a, b = self.name(), self.name()
        grant = self.held(b)
        waiter = Parked(self.service.port, "/v1/locks", {"names": [a, b], "waitMs": 20000})
        self.addCleanup(waiter.close)
        eventually(lambda: self.http.get(self.path(b)).json["waiters"] == 1, 5, "waits where it is held")
        self.let_go(self.held(a))
        self.let_go(grant)
        self.assertEqual(waiter.reply(5).status, 201)

    def test_sets__when_many_cross__then_no_deadlock_and_no_overlap(self):
        names, chance, inside = [self.name() for _ in range(6)], random.Random(SEED), {}
        plans = [[chance.sample(names, chance.randrange(1, 5)) for _ in range(8)] for _ in range(10)]

        def work(plan):
            for some in plan:
                reply = self.on_own_connection("PUT", "/v1/locks", {"names": some, "waitMs": 60000})
                self.assertEqual(reply.status, 201, reply)
                for lock in reply.json["locks"]:
                    self.assertNotIn(lock["name"], inside)
                    inside[lock["name"]] = lock["fence"]
                for name in some:
                    del inside[name]
                done = self.on_own_connection("DELETE", "/v1/locks", headers={"Lock-Token": reply.json["token"]})
                self.assertEqual((done.status, sorted(done.json["released"])), (200, sorted(some)))
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            list(pool.map(work, plans))
        self.assertEqual(self.metric("lockstock_lock_found_by_polling_total"), 0)

    def test_set__when_malformed__then_400(self):
        for names in ([], ["a", "a"], [1], ["x"] * 65, "a", None):
            self.assert_problem(self.put_set(names), 400, "SYS-003")
        document = self.assert_problem(self.put_set([self.name(), "a{b"]), 400, "SYS-003")
        self.assertEqual(document["errors"][0]["pointer"], "#/names/1")

    def test_set__when_64_names__then_granted(self):
        self.assertEqual(self.put_set([self.name() for _ in range(64)]).status, 201)


class List(LockCase):

    def test_list__when_paged__then_held_names_of_the_prefix_in_order(self):
        base = self.name() + "/"
        names = sorted(base + n for n in ("a", "ab", "b", "c/d", "ä", "z"))
        grants = {n: self.held(n) for n in reversed(names)}
        self.held(base[:-1] + "0")
        got, cursor = [], ""
        while cursor is not None:
            reply = self.http.get(f"/v1/locks?limit=2&prefix={urllib.parse.quote(base, safe='')}" +
                                  (f"&cursor={cursor}" if cursor else ""))
            self.assertEqual(reply.status, 200, reply)
            got += reply.json["items"]
            cursor = reply.json["nextCursor"]
            self.assertNotIn("token", reply.body.decode())
        self.assertEqual([item["name"] for item in got], sorted(names, key=lambda n: n.encode()))
        self.assertEqual({i["name"]: i["holders"][0]["fence"] for i in got}, {n: g["fence"] for n, g in grants.items()})

    def test_list__when_a_lease_ended__then_it_is_not_shown(self):
        name = self.name()
        self.held(name, ttlMs=100)
        eventually(lambda: not self.redis.call("EXISTS", name), 5, "expired")
        reply = self.http.get("/v1/locks?prefix=" + urllib.parse.quote(name, safe=""))
        self.assertEqual(reply.json, {"items": [], "nextCursor": None})
        self.assertIsNone(self.redis.call("ZSCORE", "lockstock:names", name))

    def test_list__when_parameters_are_wrong__then_400(self):
        for query in ("limit=0", "cursor=zz", "cursor=6c", "cursor=6d61", "sort=x", "prefix=" + "p" * 201):
            self.assert_problem(self.http.get("/v1/locks?" + query), 400, "SYS-003")

    def test_sweep__when_leases_ended_unreleased__then_the_index_forgets_them(self):
        self.redis.call("EVAL", "for i = 1, 2000 do redis.call('ZADD', 'lockstock:names', 0, 'gone/' .. i) end", 0)
        kept = self.held(self.name())
        eventually(lambda: self.redis.call("ZCOUNT", "lockstock:names", 0, 0) < 100, 25, "swept")
        self.assertIsNotNone(self.redis.call("ZSCORE", "lockstock:names", kept["name"]))


class Force(LockCase):

    def force(self, name, reason="the node is gone", **kw):
        return self.http.request("DELETE", self.path(name) + "?force=true&reason=" + urllib.parse.quote(reason), **kw)

    def test_force__when_held__then_free_told_audited_and_the_mark_raised(self):
        name = self.name()
        grant = self.held(name, owner="stuck")
        self.assertEqual(self.force(name, headers={"X-Request-Id": "req-1"}).status, 204)
        self.assert_problem(self.patch(name, grant["token"]), 410, "LCK-002", reason="forced", heldByOtherSince=None)
        fence = self.assert_force_audited(name, "req-1", "stuck", grant["fence"])
        after = self.held(name)
        self.assertGreater(after["fence"], fence)
        self.assertEqual(self.http.post(self.fence_path(name), {"fence": after["fence"]}).status, 200)
        lost = self.assert_problem(self.delete(name, grant["token"]), 410, "LCK-002", reason="forced")
        self.assertIsNotNone(lost["heldByOtherSince"])

    def test_force__when_somebody_waits__then_granted(self):
        name = self.name()
        self.held(name)
        waiter = Parked(self.service.port, self.path(name), {"waitMs": 10000})
        self.addCleanup(waiter.close)
        eventually(lambda: self.http.get(self.path(name)).json["waiters"] == 1, 5, "queued")
        self.assertEqual(self.force(name).status, 204)
        reply = waiter.reply(5)
        self.assertEqual(reply.status, 201)
        self.assertLess(reply.json["waitedMs"], 5000)

    def test_force__when_free__then_204_and_audited(self):
        name = self.name()
        self.assertEqual(self.force(name).status, 204)
        self.assertEqual(self.db.value("SELECT was_held FROM lock_audit WHERE name=%s", name), 0)
        self.assertEqual(self.redis.call("EXISTS", "lockstock:lock:" + name), 0)

    def test_force__when_it_is_no_lock__then_lck_005_and_it_stays(self):
        name = self.name()
        self.redis.call("SET", name, "x")
        self.assert_problem(self.force(name), 409, "LCK-005", kind="string")
        self.assertEqual(self.redis.call("GET", name), "x")

    def test_force__when_no_epoch_is_known__then_one_is_found_first(self):
        name = self.name()
        self.held(name)
        self.redis.call("DEL", "lockstock:fence")
        self.assertEqual(self.force(name).status, 204)

    def test_force__when_asked_wrongly__then_400(self):
        name = self.name()
        for query in ("force=true", "force=true&reason=", "force=1&reason=x", "force=true&reason=" + "x" * 201,
                      "force=true&reason=x&fence=1"):
            self.assert_problem(self.http.request("DELETE", self.path(name) + "?" + query), 400, "SYS-003")


class Access(LockCase):
    INSTANCES = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        path = os.path.join(cls.stack.folder, "lock-tokens.json")
        rows = [("billing", ["locks"], ["billing/"]), ("boss", ["admin"], []), ("eyes", ["read"], []),
                ("stocker", ["locks", "inventory"], []), ("plain", ["locks"], [])]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"tokens": [{"name": n, "sha256": hashlib.sha256(n.encode()).hexdigest(), "scopes": s, "prefixes": p}
                                  for n, s, p in rows]}, file)
        cls.service = cls.instance("a", env={"LOCKSTOCK_TOKENS_FILE": path}).start()
        cls.until_redis()

    @staticmethod
    def bearer(name, **more):
        return dict({"Authorization": "Bearer " + name}, **more)

    def call(self, who, method, name, body=None, **headers):
        path = self.path(name) if name else "/v1/locks"
        return self.http.request(method, path, body, headers=self.bearer(who, **headers))

    def test_prefix__when_the_name_is_outside__then_403(self):
        self.assertEqual(self.call("billing", "PUT", "billing/x", {}).status, 201)
        for method, name in (("PUT", "other/x"), ("GET", "other/x"), ("DELETE", "billingx")):
            self.assert_problem(self.call("billing", method, name, **{"Lock-Token": token()}), 403, "SYS-004")
        reply = self.http.put("/v1/locks", {"names": ["billing/a", "other/a"]}, headers=self.bearer("billing"))
        self.assert_problem(reply, 403, "SYS-004")
        self.assert_problem(self.http.post("/v1/fences/other", {"fence": 1}, headers=self.bearer("billing")), 403, "SYS-004")

    def test_list__when_prefixes_bind__then_only_what_they_cover(self):
        for who, name in (("billing", "billing/l"), ("plain", "other/l")):
            self.assertIn(self.call(who, "PUT", name, {}).status, (200, 201))
        names = [i["name"] for i in self.call("billing", "GET", None).json["items"]]
        self.assertIn("billing/l", names)
        self.assertNotIn("other/l", names)
        self.assertIn("other/l", [i["name"] for i in self.call("eyes", "GET", None).json["items"]])

    def test_list__when_prefixes_hide_names__then_its_cursors_tell_of_none(self):
        for name in ("a-secret", "billing", "billing/m", "billing/n", "billing-secret", "z-secret", "zz-secret"):
            for store in ("redis", "database"):
                reply = self.call("plain", "PUT", f"{name}-{store}", {"store": store})
                self.assertEqual(reply.status, 201, reply)
        client = self.client(headers=list(self.bearer("billing").items()))
        names = [i["name"] for i in self.paged(client, "/v1/locks", "secret")]
        self.assertEqual([n for n in names if n[:9] in ("billing/m", "billing/n")],
                         [f"billing/{n}-{store}" for n in "mn" for store in ("database", "redis")])

    def test_list__when_the_cursor_lies_before_the_prefix__then_only_names_with_it(self):
        for name in ("ca", "cb", "cc"):
            self.assertEqual(self.call("plain", "PUT", name, {}).status, 201)
        reply = self.http.get("/v1/locks?prefix=cc&cursor=" + b"lca".hex(), headers=self.bearer("plain"))
        self.assertEqual([i["name"] for i in reply.json["items"]], ["cc"])

    def test_token__when_of_another_credential__then_it_is_another_holder(self):
        mine, name = token(), "other/shared"
        self.assertEqual(self.call("plain", "PUT", name, {"token": mine}).status, 201)
        self.assertEqual(self.call("stocker", "PUT", name, {"token": mine}).status, 423)
        self.assert_problem(self.call("stocker", "DELETE", name, **{"Lock-Token": mine}), 410, "LCK-002")
        self.assertEqual(self.call("plain", "DELETE", name, **{"Lock-Token": mine}).status, 204)

    def test_stock_names__when_the_scope_inventory_lacks__then_403(self):
        self.assert_problem(self.call("plain", "PUT", "inventory-lock:77", {}), 403, "SYS-004")
        self.assertEqual(self.call("stocker", "PUT", "inventory-lock:77", {}).status, 201)

    def test_force__when_not_admin__then_403(self):
        path = self.path("other/f") + "?force=true&reason=x"
        self.assert_problem(self.http.request("DELETE", path, headers=self.bearer("plain")), 403, "SYS-004")
        self.assertEqual(self.http.request("DELETE", path, headers=self.bearer("boss")).status, 204)

    def test_owner__when_not_given__then_credential_and_address(self):
        reply = self.call("plain", "PUT", "other/owner", {})
        self.assertEqual(reply.json["owner"], "plain@127.0.0.1")


if __name__ == "__main__":
    main()
