"""/v1/schedules: locks of scheduled work in ShedLock's table, over HTTP and through two instances."""

import concurrent.futures
import datetime
import hashlib
import json
import os
import secrets
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support import schedules  # pylint: disable=wrong-import-position
from support.case import Case, main
from support.client import Http
from support.wait import eventually

JOBS = ["orderReservationExpiryJob", "orderTimeoutCancelJob", "outboxPollingJob", "paymentReconcileJob", "retentionJob",
        "stockReservationSweepJob"]


class Schedules(Case):
    INSTANCES = 2
    ENV = {"LOCKSTOCK_JOBS": "off"}

    def setUp(self):
        super().setUp()
        self.second = self.client(1)
        self.name = "t:" + secrets.token_hex(4)

    def path(self, name=None):
        return f"/v1/schedules/{name or self.name}"

    def put(self, at_most="PT10M", at_least="PT0S", http=None, name=None, **body):
        return (http or self.http).put(self.path(name), {"lockAtMostFor": at_most, "lockAtLeastFor": at_least, **body})

    def held(self, *args, **kw):
        reply = self.put(*args, **kw)
        self.assertEqual(reply.status, 201, reply)
        return reply.json

    def patch(self, token, at_most="PT10M", http=None, **body):
        return (http or self.http).request("PATCH", self.path(), {"lockAtMostFor": at_most, **body},
                                           headers={"Lock-Token": token})

    def delete(self, token, http=None, name=None):
        return (http or self.http).request("DELETE", self.path(name), headers={"Lock-Token": token})

    def row(self):
        """The row, with what is left of it and how long it was held, in ms of the database's clock."""
        return self.db.rows("SELECT name, locked_by, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), lock_until) DIV 1000 "
                            "AS left_ms, TIMESTAMPDIFF(MICROSECOND, locked_at, lock_until) DIV 1000 AS span_ms "
                            "FROM shedlock WHERE name=%s", self.name)[0]

    def read(self, http=None):
        reply = (http or self.http).get(self.path())
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    # -- taking

    def test_put__when_free__then_201_and_the_row_of_shedlock(self):
        reply = self.put("PT10M", "PT30S", lockedBy="pod-1")
        self.assertEqual(reply.status, 201, reply)
        got = reply.json
        self.assertEqual((got["name"], got["lockedBy"]), (self.name, "pod-1"))
        self.assertEqual((reply.headers["location"], reply.headers["lock-token"]), (self.path(), got["token"]))
        self.assertTrue(580000 < got["safeForMs"] < 600000, got)
        row = self.row()
        self.assertEqual(row["span_ms"], 600000)
        self.assertRegex(row["locked_by"], r"^pod-1#[0-9a-f]{32}$")
        self.assertNotIn(got["token"][:32], row["locked_by"])

    def test_put__when_held__then_sch_001_and_who_holds(self):
        got = self.held(lockedBy="pod-1")
        found = self.assert_problem(self.put(http=self.second), 423, "SCH-001", lockedBy="pod-1",
                                    lockUntil=got["lockUntil"])
        self.assertTrue(0 < found["retryAfterMs"] <= 600000, found)

    def test_put__when_the_time_is_over__then_the_next_has_it_and_the_first_is_told(self):
        first = self.held("PT0.2S")
        second = eventually(lambda: (lambda r: r.json if r.status == 201 else None)(self.put(http=self.second)), 5)
        self.assertNotEqual(first["token"], second["token"])
        self.assertGreaterEqual(second["lockedAt"], first["lockUntil"])
        self.assert_problem(self.patch(first["token"]), 410, "SCH-002")
        self.assert_problem(self.delete(first["token"]), 410, "SCH-002")
        self.assertTrue(self.read()["held"])

    def test_put__when_many_at_once__then_one_is_granted(self):
        clients = [Http(self.services[n % 2].port) for n in range(16)]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for _ in range(20):
                self.name = "t:" + secrets.token_hex(4)
                got = [r.status for r in pool.map(lambda c: self.put(http=c), clients)]
                self.assertEqual(sorted(got), [201] + [423] * 15)
        for client in clients:
            client.close()

    def test_put__when_the_row_was_deleted__then_made_again(self):
        self.held()
        self.db.run("DELETE FROM shedlock WHERE name=%s", self.name)
        self.held()

    def test_put__when_lockedby_is_absent__then_the_credential_and_address(self):
        self.assertEqual(self.held()["lockedBy"], "anonymous@127.0.0.1")

    def test_put__when_the_terms_are_wrong__then_each_is_named_and_nothing_left(self):
        cases = [({"lockAtMostFor": "PT0S"}, "lockAtMostFor"), ({"lockAtMostFor": "PT24H0.001S"}, "lockAtMostFor"),
                 ({"lockAtMostFor": 600}, "lockAtMostFor"), ({"lockAtMostFor": "10m"}, "lockAtMostFor"),
                 ({}, "lockAtMostFor"),
                 ({"lockAtMostFor": "PT1S", "lockAtLeastFor": "PT1.001S"}, "lockAtLeastFor"),
                 ({"lockAtMostFor": "PT1S", "lockAtLeastFor": "-PT1S"}, "lockAtLeastFor"),
                 ({"lockAtMostFor": "PT1S", "lockedBy": ""}, "lockedBy"),
                 ({"lockAtMostFor": "PT1S", "lockedBy": "p" * 129}, "lockedBy"),
                 ({"lockAtMostFor": "PT1S", "lockedBy": "größe"}, "lockedBy"),
                 ({"lockAtMostFor": "PT1S", "lockedBy": "pod "}, "lockedBy"),
                 ({"lockAtMostFor": "PT1S", "ttlMs": 1}, "ttlMs")]
        for body, field in cases:
            with self.subTest(body=body):
                found = self.assert_problem(self.http.put(self.path(), body), 400, "SYS-003")
                self.assertEqual([e["pointer"] for e in found["errors"]], [f"#/{field}"])
        for name in ("a%20b", "k%C3%A4se", "a%2Fb", "n" * 65):
            self.assert_problem(self.http.put(self.path(name), {"lockAtMostFor": "PT1S"}), 400, "SYS-003")
        self.assertEqual(self.db.count("shedlock", "name=%s", self.name), 0)
        self.held("PT24H")
        self.name = "n" * 64
        self.held("PT0.001S")

    # -- extending

    def test_patch__when_held__then_until_then_and_through_any_instance(self):
        got = self.held("PT1M", lockedBy="pod-1")
        reply = self.patch(got["token"], "PT20M", self.second)
        self.assertEqual(reply.status, 200, reply)
        after = reply.json
        self.assertEqual((after["token"], after["lockedBy"], after["lockedAt"]),
                         (got["token"], "pod-1", got["lockedAt"]))
        self.assertTrue(1190000 < self.row()["left_ms"] <= 1200000)
        self.assertEqual(self.patch(got["token"], "PT1S").status, 200)
        self.assertLessEqual(self.row()["left_ms"], 1000)

    def test_patch__when_twice_at_once__then_both_are_told_so(self):
        got = self.held()
        clients = [Http(self.services[n % 2].port) for n in range(8)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for _ in range(4):
                self.assertEqual([r.status for r in pool.map(lambda c: self.patch(got["token"], http=c), clients)],
                                 [200] * 8)
        for client in clients:
            client.close()

    def test_patch__when_extended__then_the_minimum_stays(self):
        got = self.held("PT10M", "PT5M")
        self.assertEqual(self.patch(got["token"], "PT1S", lockedBy="pod-2").status, 200)
        self.assertEqual(self.row()["span_ms"], 300000)
        self.assertEqual(self.patch(got["token"], "PT10M").status, 200)
        self.assertEqual(self.delete(got["token"]).status, 204)
        self.assertEqual(self.row()["span_ms"], 300000)

    def test_patch__when_it_asks_for_a_longer_minimum__then_400(self):
        got = self.held("PT10M", "PT1M")
        found = self.assert_problem(self.patch(got["token"], lockAtLeastFor="PT1M0.001S"), 400, "SYS-003")
        self.assertEqual(found["errors"][0]["pointer"], "#/lockAtLeastFor")

    # -- releasing

    def test_delete__when_held__then_free_at_once_for_the_other(self):
        got = self.held()
        self.assertEqual(self.delete(got["token"], self.second).status, 204)
        self.assertFalse(self.read()["held"])
        self.assertEqual(self.put(http=self.second).status, 201)

    def test_delete__when_before_the_minimum__then_locked_until_then(self):
        got = self.held("PT10M", "PT0.7S")
        self.assertEqual(self.delete(got["token"], self.second).status, 204)
        self.assertEqual(self.row()["span_ms"], 700)
        self.assert_problem(self.put(http=self.second), 423, "SCH-001")
        after = eventually(lambda: (lambda r: r.json if r.status == 201 else None)(self.put()), 5)
        self.assertGreaterEqual(after["lockedAt"], self.later(got["lockedAt"], 700))

    @staticmethod
    def later(time, ms):
        at = datetime.datetime.strptime(time, "%Y-%m-%dT%H:%M:%S.%fZ") + datetime.timedelta(milliseconds=ms)
        return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"

    def test_delete__when_repeated__then_204_until_another_has_it(self):
        got = self.held()
        for http in (self.http, self.second):
            self.assertEqual(self.delete(got["token"], http).status, 204)
        self.assert_problem(self.patch(got["token"]), 410, "SCH-002")
        self.held()
        self.assert_problem(self.delete(got["token"]), 410, "SCH-002")
        self.assertTrue(self.read()["held"])

    def test_delete__when_never_held_or_over__then_sch_002(self):
        before = self.metric("lockstock_schedule_lost_total")
        stranger = "0" * 32 + "-0"
        self.assert_problem(self.delete(stranger), 410, "SCH-002")
        got = self.held("PT0.05S", "PT0S")
        eventually(lambda: not self.read()["held"], 5)
        self.assert_problem(self.delete(got["token"]), 410, "SCH-002")
        self.assert_problem(self.delete("c0ffee00c0ffee00"), 410, "SCH-002")
        self.held()
        self.assert_problem(self.delete(stranger), 410, "SCH-002")
        self.assertEqual(self.metric("lockstock_schedule_lost_total"), before + 3)

    def test_delete__when_the_tokens_minimum_was_changed__then_sch_002(self):
        got = self.held("PT10M", "PT1M")
        self.assert_problem(self.delete(got["token"].replace("-60000", "-0")), 410, "SCH-002")
        self.assertTrue(self.read()["held"])

    def test_token__when_missing_or_malformed__then_400(self):
        self.assert_problem(self.http.request("DELETE", self.path()), 400, "SYS-003")
        self.assert_problem(self.delete("short"), 400, "SYS-003")

    # -- looking

    def test_get__when_unknown_held_released__then_said(self):
        self.assertEqual(self.read(), {"name": self.name, "held": False, "lockedBy": None, "lockedAt": None,
                                       "lockUntil": None, "leftMs": 0})
        got = self.held(lockedBy="pod-1")
        seen = self.read(self.second)
        self.assertTrue(0 < seen.pop("leftMs") <= 600000)
        self.assertEqual(seen, {"name": self.name, "held": True, "lockedBy": "pod-1", "lockedAt": got["lockedAt"],
                                "lockUntil": got["lockUntil"]})
        self.delete(got["token"])
        self.assertEqual({k: self.read()[k] for k in ("held", "lockedBy", "leftMs")},
                         {"held": False, "lockedBy": "pod-1", "leftMs": 0})

    def listed(self, query=""):
        found, cursor = [], ""
        while cursor is not None:
            page = self.http.get(f"/v1/schedules?limit=3{query}" + (f"&cursor={cursor}" if cursor else "")).json
            self.assertLessEqual(len(page["items"]), 3)
            found += page["items"]
            cursor = page["nextCursor"]
        return found

    def test_list__when_paged__then_every_name_once_with_our_jobs_among_them(self):
        mine = [self.name + end for end in ("a", "b", "c", "d")]
        for name in mine:
            self.held(name=name)
        self.db.run("INSERT INTO shedlock VALUES ('Ärger mit Namen', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 'java')")
        self.db.run("INSERT INTO shedlock VALUES ('retentionJob', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 'java')")
        names = [item["name"] for item in self.listed()]
        self.assertEqual(names, sorted(set(names), key=lambda n: n.encode()))
        self.assertLessEqual(set(mine + JOBS + ["Ärger mit Namen"]), set(names))
        self.assertEqual({i["name"] for i in self.listed() if "job" in i}, set(JOBS))

    def test_list__when_a_job_is_off__then_it_is_said(self):
        job = next(i for i in self.listed() if i["name"] == "outboxPollingJob")["job"]
        self.assertEqual(job, {"every": None, "lockAtMostFor": "PT5M", "lockAtLeastFor": "PT4S", "runs": 0, "skips": 0,
                               "failures": 0})


class Undelivered(Case):
    """A client that is gone before its grant: nobody knows the token."""

    INSTANCES = 0
    ENV = {"LOCKSTOCK_JOBS": "off"}

    def gone_before_its_grant(self, faults=None):
        """The end of locked_by once the row was taken for a client that had hung up: "#" or "~"."""
        one = self.instance("a", faults=faults, env=self.ENV).start()
        self.addCleanup(one.kill)
        name = "t:" + secrets.token_hex(4)
        self.db.run("INSERT INTO shedlock VALUES (%s, '2000-01-01', '2000-01-01', 'nobody')", name)
        session = self.db.session()
        self.addCleanup(session.close)
        with session.cursor() as cursor:
            cursor.execute("SELECT * FROM shedlock WHERE name=%s FOR UPDATE", (name,))
        body = json.dumps({"lockAtMostFor": "PT10M", "lockAtLeastFor": "PT5M", "lockedBy": "gone"})
        client = socket.create_connection(("127.0.0.1", one.port))
        client.sendall(f"PUT /v1/schedules/{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                       f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        eventually(lambda: self.row_waits() > 0, 5, "it waits for the row")
        client.close()
        eventually(lambda: one.metric("lockstock_http_client_gone_total") == 1, 5, "the hang-up was noticed")
        session.rollback()
        mark = lambda: self.db.value("SELECT locked_by FROM shedlock WHERE name=%s", name)[4:5]
        eventually(lambda: mark() in "#~" and mark(), 5, "taken")
        if faults is None:
            eventually(lambda: one.metric("lockstock_schedule_undelivered_total") == 1, 5, "noticed")
            eventually(lambda: mark() == "~", 5, "given back")
            self.assertFalse(one.get(f"/v1/schedules/{name}").json["held"], "at once: nothing was done under it")
        return mark()

    def test_grant__when_its_client_is_gone__then_given_back(self):
        self.assertEqual(self.gone_before_its_grant(), "~")

    def test_grant__when_nobody_gives_it_back__then_it_stays(self):
        self.assertEqual(self.gone_before_its_grant("no-give-back"), "#")


class Strangers(Case):
    """What keeps a late node, or anybody, from ending a lock that is another's."""

    INSTANCES = 0
    STRANGER = {"Lock-Token": "0" * 32 + "-0"}

    def released_by_a_stranger(self, faults=None):
        """The answer to the stranger, and whether the lock still stands."""
        one = self.instance("a", faults=faults, env={"LOCKSTOCK_JOBS": "off"}).start()
        http = one.http()
        self.addCleanup(http.close)
        name = "t:" + secrets.token_hex(4)
        self.assertEqual(schedules.take(http, name).status, 201)
        reply = http.request("DELETE", f"/v1/schedules/{name}", headers=self.STRANGER)
        return reply.status, http.get(f"/v1/schedules/{name}").json["held"]

    def test_stranger__when_it_releases__then_410_and_the_lock_stands(self):
        self.assertEqual(self.released_by_a_stranger(), (410, True))

    def test_stranger__when_marks_do_not_tell_tokens_apart__then_it_frees_it(self):
        self.assertEqual(self.released_by_a_stranger("no-holder-check"), (204, False))


class SchedulesAccess(Case):
    """Scopes, prefixes, and names of our own jobs."""

    INSTANCES = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tokens = {"team": (["schedules"], ["team:"]), "any": (["schedules"], []), "boss": (["admin"], []),
                  "reader": (["read"], ["team:"]), "locker": (["locks"], [])}
        path = os.path.join(cls.stack.folder, "schedule-tokens.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"tokens": [{"name": n, "sha256": hashlib.sha256(n.encode()).hexdigest(), "scopes": s,
                                   "prefixes": p} for n, (s, p) in tokens.items()]}, file)
        cls.service = cls.instance("a", env={"LOCKSTOCK_TOKENS_FILE": path, "LOCKSTOCK_JOBS": "off"}).start()

    def as_(self, name):
        client = self.service.http(headers=[("Authorization", f"Bearer {name}")])
        self.addCleanup(client.close)
        return client

    def test_scope__when_it_lacks__then_403(self):
        self.assertEqual(schedules.take(self.as_("locker"), "team:a").status, 403)
        self.assertEqual(schedules.take(self.as_("reader"), "team:a").status, 403)
        self.assertEqual(self.as_("reader").get("/v1/schedules/team:a").status, 200)

    def test_prefix__when_it_does_not_cover__then_403_and_not_listed(self):
        self.assertEqual(schedules.take(self.as_("any"), "other:a").status, 201)
        self.assertEqual(schedules.take(self.as_("team"), "team:b").status, 201)
        self.assertEqual(schedules.take(self.as_("team"), "other:b").status, 403)
        self.assertEqual(self.as_("team").get("/v1/schedules/other:a").status, 403)
        names = [i["name"] for i in self.as_("team").get("/v1/schedules?limit=500").json["items"]]
        self.assertIn("team:b", names)
        self.assertTrue(all(n.startswith("team:") for n in names), names)

    def test_list__when_prefixes_hide_names__then_its_cursors_tell_of_none(self):
        for name in ("a-secret", "team", "team:x", "team:y", "team-secret", "z-secret", "zz-secret"):
            self.assertEqual(schedules.take(self.as_("any"), name).status, 201)
        names = [i["name"] for i in self.paged(self.as_("team"), "/v1/schedules", "secret")]
        self.assertEqual([n for n in names if n in ("team:x", "team:y")], ["team:x", "team:y"])
        self.assertTrue(all(n.startswith("team:") for n in names), names)

    def test_token__when_of_another_credential__then_410(self):
        token = schedules.take(self.as_("any"), "team:c").json["token"]
        headers = {"Lock-Token": token}
        self.assertEqual(self.as_("team").request("DELETE", "/v1/schedules/team:c", headers=headers).status, 410)
        self.assertEqual(self.as_("any").request("DELETE", "/v1/schedules/team:c", headers=headers).status, 204)

    def test_own_job__when_not_admin__then_403(self):
        self.assertEqual(schedules.take(self.as_("any"), "retentionJob").status, 403)
        self.assertEqual(self.as_("any").get("/v1/schedules/retentionJob").status, 200)
        reply = schedules.take(self.as_("boss"), "retentionJob")
        self.assertEqual(reply.status, 201)
        headers = {"Lock-Token": reply.json["token"]}
        self.assertEqual(self.as_("any").request("DELETE", "/v1/schedules/retentionJob", headers=headers).status, 403)
        self.assertEqual(self.as_("boss").request("DELETE", "/v1/schedules/retentionJob", headers=headers).status, 204)


if __name__ == "__main__":
    main()
