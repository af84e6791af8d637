"""Queues of jobs over HTTP: added, claimed, ended, looked at (api/openapi.yaml)."""

import concurrent.futures
import hashlib
import itertools
import json
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.wait import eventually

PAYLOAD_MAX = 64 * 1024
NUMBERS = itertools.count(1)
NOBODY = "1." + "0" * 64


class Queues(Case):
    INSTANCES = 2

    def setUp(self):
        super().setUp()
        self.queue = f"q-{next(NUMBERS)}"

    def path(self, *parts, queue=None):
        return "/".join([f"/v1/queues/{urllib.parse.quote(queue or self.queue, safe='')}", *map(str, parts)])

    def add(self, queue=None, **body):
        reply = self.http.post(self.path("jobs", queue=queue), body)
        self.assertEqual(reply.status, 201, reply)
        return reply.json

    def claim(self, http=None, **body):
        reply = (http or self.http).post(self.path("claims"), body)
        self.assertEqual(reply.status, 200, reply)
        return reply.json["jobs"]

    def claim_one(self, **body):
        jobs = self.claim(limit=1, **body)
        self.assertEqual(len(jobs), 1)
        return jobs[0]

    def end(self, job, how, **body):
        return self.http.post(self.path("jobs", job["id"], how), {"claimToken": job["claimToken"], **body})

    def job(self, job):
        reply = self.http.get(self.path("jobs", job["id"]))
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def end_lease(self, job):
        self.db.run("UPDATE jobs SET lease_until=UTC_TIMESTAMP(6) - INTERVAL 1 SECOND, due_at=lease_until WHERE id=%s",
                    job["id"])

    # -- adding

    def test_add__when_all_is_given__then_201_and_the_job_is_there(self):
        reply = self.http.post(self.path("jobs"), {"payload": {"b": [1, 2.5, None], "a": "é"}, "delayMs": 60000,
                                                   "dedupeKey": "k", "maxAttempts": 3})
        self.assertEqual(reply.status, 201, reply)
        job = reply.json
        self.assertEqual(reply.headers["location"], self.path("jobs", job["id"]))
        self.assertEqual((job["status"], job["payload"], job["attempts"], job["maxAttempts"], job["dedupeKey"],
                          job["fence"], job["queue"]), ("READY", {"b": [1, 2.5, None], "a": "é"}, 0, 3, "k", 0, self.queue))
        self.assertGreater(job["availableAt"], job["createdAt"])
        self.assertIsNone(job["leaseUntil"])
        self.assertEqual(self.job(job), job)

    def test_add__when_the_name_is_as_long_as_can_be__then_the_location_leads_to_the_job(self):
        for name in ("%" * 200, "\u20ac" * 66, "q" * 200):
            path = f"/v1/queues/{urllib.parse.quote(name, safe='')}/jobs"
            reply = self.http.post(path, {})
            self.assertEqual(reply.status, 201, reply)
            self.assertEqual(reply.headers["location"], f"{path}/{reply.json['id']}")
            self.assertEqual(self.http.get(reply.headers["location"]).json["queue"], name)

    def test_add__when_nothing_is_given__then_defaults(self):
        reply = self.http.post(self.path("jobs"))
        self.assertEqual(reply.status, 201, reply)
        job = reply.json
        self.assertEqual((job["payload"], job["maxAttempts"], job["dedupeKey"]), ({}, 10, None))

    def test_dedupe__when_the_key_stands__then_200_and_the_first_job(self):
        first = self.add(payload={"n": 1}, dedupeKey="k")
        reply = self.http.post(self.path("jobs"), {"payload": {"n": 2}, "dedupeKey": "k"})
        self.assertEqual((reply.status, reply.json), (200, first))
        self.assertEqual(reply.headers["location"], self.path("jobs", first["id"]))
        self.add(queue=self.queue + "-other", dedupeKey="k")
        done = self.claim_one()
        self.assertEqual(self.end(done, "complete").status, 200)
        reply = self.http.post(self.path("jobs"), {"dedupeKey": "k"})
        self.assertEqual((reply.status, reply.json["id"], reply.json["status"]), (200, first["id"], "DONE"))

    def test_dedupe__when_seven_days_old__then_it_binds_no_more(self):
        first = self.add(dedupeKey="k")
        self.db.run("UPDATE jobs SET created_at=UTC_TIMESTAMP(6) - INTERVAL 7 DAY + INTERVAL 1 MINUTE WHERE id=%s",
                    first["id"])
        self.assertEqual(self.http.post(self.path("jobs"), {"dedupeKey": "k"}).json["id"], first["id"])
        self.db.run("UPDATE jobs SET created_at=UTC_TIMESTAMP(6) - INTERVAL 7 DAY WHERE id=%s", first["id"])
        second = self.add(dedupeKey="k")
        self.assertNotEqual(second["id"], first["id"])
        self.assertIsNone(self.job(first)["dedupeKey"])
        self.assertEqual(self.http.post(self.path("jobs"), {"dedupeKey": "k"}).json["id"], second["id"])

    def test_dedupe__when_many_add_at_once_through_two_instances__then_one_job(self):
        clients = [self.client(n) for n in range(16)]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            replies = list(pool.map(lambda c: c.post(self.path("jobs"), {"dedupeKey": "k"}), clients))
        self.assertEqual(sorted(r.status for r in replies), [200] * 15 + [201], replies)
        self.assertEqual(len({r.json["id"] for r in replies}), 1)

    def test_payload__when_at_the_bound__then_a_hundred_of_them_are_claimed_at_once(self):
        payload = {"x": "y" * (PAYLOAD_MAX - 8)}
        self.assertEqual(len(json.dumps(payload, separators=(",", ":"))), PAYLOAD_MAX)
        for _ in range(100):
            self.add(payload=payload)
        jobs = self.claim(limit=100)
        self.assertEqual([j["payload"] for j in jobs], [payload] * 100)
        payload["x"] += "y"
        reply = self.http.post(self.path("jobs"), {"payload": payload})
        self.assertEqual((reply.status, reply.json["errors"][0]["pointer"]), (400, "#/payload"), reply)

    # -- claiming

    def test_claim__when_jobs_are_due__then_the_longest_due_first(self):
        later = self.add(delayMs=3600000)
        jobs = [self.add(payload={"n": n}) for n in range(3)]
        self.db.run("UPDATE jobs SET due_at=due_at - INTERVAL 1 HOUR WHERE id=%s", jobs[2]["id"])
        claimed = self.claim(leaseMs=60000, owner="w-1")
        self.assertEqual([c["id"] for c in claimed], [jobs[2]["id"], jobs[0]["id"], jobs[1]["id"]])
        for claim in claimed:
            self.assertEqual((claim["attempts"], claim["fence"], claim["leaseMs"]), (1, 1, 60000))
            job = self.job(claim)
            self.assertEqual((job["status"], job["owner"], job["leaseUntil"], job["availableAt"], job["payload"]),
                             ("CLAIMED", "w-1", claim["leaseUntil"], None, claim["payload"]))
        self.assertEqual(self.claim(), [])
        self.assertEqual(self.job(later)["status"], "READY")

    def test_claim__when_no_body__then_defaults_and_the_caller_as_owner(self):
        for _ in range(11):
            self.add()
        reply = self.http.post(self.path("claims"))
        self.assertEqual((reply.status, len(reply.json["jobs"])), (200, 10))
        self.assertEqual(self.job(reply.json["jobs"][0])["owner"], "anonymous@127.0.0.1")
        self.assertEqual(reply.json["jobs"][0]["leaseMs"], 30000)

    def test_claim__when_the_delay_is_over__then_the_job_is_given(self):
        job = self.add(delayMs=300)
        self.assertEqual(self.claim(), [])
        claimed = eventually(self.claim, 5, "the delayed job is given")
        self.assertEqual([c["id"] for c in claimed], [job["id"]])

    def test_claim__then_its_secret_stands_neither_in_the_table_nor_in_the_log(self):
        self.add()
        job = self.claim_one()
        fence, secret = job["claimToken"].split(".")
        self.assertEqual((int(fence), len(secret)), (job["fence"], 64))
        stored = self.db.value("SELECT claim_token FROM jobs WHERE id=%s", job["id"])
        self.assertEqual(bytes(stored), hashlib.sha256(secret.encode()).digest())
        self.assertEqual(self.end(job, "complete").status, 200)
        for one in self.services:
            self.assertNotIn(secret, one.text())

    def test_claim__when_the_lease_is_over__then_another_has_it_and_the_first_settles_nothing(self):
        self.add(payload={"n": 1})
        frozen = self.claim_one()
        self.assertEqual(self.claim(), [])
        self.end_lease(frozen)
        lost = self.metric("lockstock_claims_lost_total", of="jobs")
        self.assert_problem(self.end(frozen, "complete"), 410, "JOB-001", jobStatus="CLAIMED")
        second = self.claim_one(owner="w-2")
        self.assertEqual((second["id"], second["fence"], second["attempts"]), (frozen["id"], 2, 2))
        for how in ("complete", "retry"):
            self.assert_problem(self.end(frozen, how, lastResult="late"), 410, "JOB-001", jobStatus="CLAIMED")
        renewal = {"claimToken": frozen["claimToken"], "leaseMs": 1000}
        self.assert_problem(self.http.request("PATCH", self.path("jobs", frozen["id"]), renewal), 410, "JOB-001")
        self.assertEqual(self.metric("lockstock_claims_lost_total", of="jobs") - lost, 4)
        self.assertEqual(self.end(second, "complete", lastResult="by w-2").json["lastResult"], "by w-2")
        self.assert_problem(self.end(frozen, "complete"), 410, "JOB-001", jobStatus="DONE")

    def test_claim__when_taken_too_often__then_dead_and_not_given_again(self):
        job = self.add(maxAttempts=2)
        for attempt in (1, 2):
            claimed = self.claim_one()
            self.assertEqual(claimed["attempts"], attempt)
            self.end_lease(claimed)
        self.assertEqual(self.claim(), [])
        self.assertEqual((self.job(job)["status"], self.job(job)["attempts"]), ("DEAD", 2))

    # -- ending

    def test_complete__when_it_holds__then_done_and_a_repeat_is_no_loss(self):
        self.add()
        job = self.claim_one()
        reply = self.end(job, "complete", lastResult="sent 3 mails")
        self.assertEqual((reply.status, reply.json["status"], reply.json["lastResult"]), (200, "DONE", "sent 3 mails"))
        self.assertIsNotNone(reply.json["doneAt"])
        again = self.end(job, "complete", lastResult="other")
        self.assertEqual((again.status, again.json), (200, reply.json))
        self.assert_problem(self.end(job, "retry"), 410, "JOB-001", jobStatus="DONE")

    def test_complete__when_token_is_anothers__then_410_and_nothing_happens(self):
        self.add()
        self.add()
        one, other = self.claim(limit=2)
        tokens = (NOBODY, "nonsense", other["claimToken"], one["claimToken"][:-1], one["claimToken"].replace("1.", "2.", 1),
                  one["claimToken"].replace("1.", "0.", 1), "1." + one["claimToken"][2:].upper() + "x")
        for token in tokens:
            with self.subTest(token):
                reply = self.http.post(self.path("jobs", one["id"], "complete"), {"claimToken": token})
                self.assert_problem(reply, 410, "JOB-001", jobStatus="CLAIMED")
        self.assertEqual(self.job(one)["status"], "CLAIMED")

    def test_retry__when_it_holds__then_ready_after_its_delay(self):
        self.add()
        job = self.claim_one()
        reply = self.end(job, "retry", delayMs=200, lastResult="no answer")
        self.assertEqual((reply.status, reply.json["status"], reply.json["lastResult"]), (200, "READY", "no answer"))
        self.assertEqual(self.end(job, "retry", delayMs=200).status, 200)
        self.assertEqual(self.claim(), [])
        again = eventually(self.claim, 5, "the job is given again")[0]
        self.assertEqual((again["id"], again["attempts"], again["fence"]), (job["id"], 2, 2))
        self.assert_problem(self.end(job, "retry"), 410, "JOB-001")

    def test_retry__when_it_was_the_last_attempt__then_dead_until_revived(self):
        self.add(maxAttempts=1)
        job = self.claim_one()
        self.assertEqual(self.end(job, "retry").json["status"], "DEAD")
        self.assertEqual(self.claim(), [])
        reply = self.http.post(self.path("jobs", job["id"], "revive"))
        self.assertEqual((reply.status, reply.json["status"], reply.json["attempts"]), (200, "READY", 0))
        again = self.claim_one()
        self.assertEqual((again["attempts"], again["fence"]), (1, 2))
        reply = self.http.post(self.path("jobs", job["id"], "revive"))
        self.assertEqual((reply.status, reply.code, reply.json["errors"][0]["pointer"]), (400, "SYS-003", "#/id"))

    def test_patch__when_it_holds__then_the_lease_counts_from_now(self):
        self.add()
        job = self.claim_one(leaseMs=2000)
        reply = self.http.request("PATCH", self.path("jobs", job["id"]),
                                  {"claimToken": job["claimToken"], "leaseMs": 600000})
        self.assertEqual(reply.status, 200, reply)
        self.assertGreater(reply.json["leaseUntil"], job["leaseUntil"])
        self.assertEqual(self.job(job)["leaseUntil"], reply.json["leaseUntil"])

    def test_end__when_there_is_no_such_job__then_404(self):
        self.add()
        job = self.claim_one()
        elsewhere = self.path("jobs", job["id"], "complete", queue=self.queue + "-other")
        for path in (self.path("jobs", 10**15, "complete"), elsewhere):
            self.assert_problem(self.http.post(path, {"claimToken": job["claimToken"]}), 404, "SYS-013")
        self.assert_problem(self.http.get(self.path("jobs", 10**15)), 404, "SYS-013")
        self.assert_problem(self.http.post(self.path("jobs", 10**15, "revive")), 404, "SYS-013")

    # -- looking

    def test_list__when_paged_and_filtered__then_newest_first_without_payloads(self):
        ids = [self.add(payload={"n": n})["id"] for n in range(7)]
        job = self.claim_one()
        self.end(job, "complete")
        self.claim_one()
        self.add(queue=self.queue + "-other")
        found, cursor = [], ""
        while cursor is not None:
            page = self.http.get(self.path(f"jobs?limit=3{cursor and '&cursor=' + cursor}")).json
            self.assertLessEqual(len(page["items"]), 3)
            found += page["items"]
            cursor = page["nextCursor"]
        self.assertEqual([j["id"] for j in found], ids[::-1])
        self.assertNotIn("payload", found[0])
        for status, want in (("READY", ids[:1:-1]), ("DONE", ids[:1]), ("CLAIMED", ids[1:2]), ("DEAD", [])):
            page = self.http.get(self.path(f"jobs?status={status}")).json
            self.assertEqual([j["id"] for j in page["items"]], want, status)
        reply = self.http.get(self.path("jobs?status=LOST"))
        self.assertEqual((reply.status, reply.json["errors"][0]["pointer"]), (400, "#?status"), reply)

    def test_queues__when_listed__then_by_name_with_their_depths(self):
        names = [f"{self.queue}-{letter}" for letter in "abc"]
        for name in names:
            self.add(queue=name)
        self.queue = names[1]
        self.add(maxAttempts=1)
        self.claim(limit=1)
        found, cursor = {}, ""
        while cursor is not None:
            page = self.http.get(f"/v1/queues?limit=2{cursor and '&cursor=' + cursor}").json
            found |= {item["queue"]: item for item in page["items"]}
            cursor = page["nextCursor"]
        self.assertEqual(list(found), sorted(found, key=str.encode))
        self.assertEqual(found[names[1]], {"queue": names[1], "ready": 1, "claimed": 1, "dead": 0})
        self.assertEqual(found[names[2]]["ready"], 1)

    def test_name__when_it_needs_escapes__then_the_same_queue_everywhere(self):
        self.queue = f"a/b c:é{next(NUMBERS)}"
        reply = self.http.post(self.path("jobs"), {})
        self.assertEqual(self.http.get(reply.headers["location"]).json["queue"], self.queue)
        self.assertEqual(len(self.claim()), 1)

    # -- strictness

    def test_bodies__when_wrong__then_400_at_the_place_and_nothing_left(self):
        self.add()
        job = self.claim_one()
        token = job["claimToken"]
        wrong = [
            ("jobs", {"payload": [1]}, "#/payload"), ("jobs", {"payload": 1}, "#/payload"),
            ("jobs", {"delayMs": -1}, "#/delayMs"), ("jobs", {"delayMs": 2592000001}, "#/delayMs"),
            ("jobs", {"delayMs": 1.5}, "#/delayMs"), ("jobs", {"maxAttempts": 0}, "#/maxAttempts"),
            ("jobs", {"maxAttempts": 1001}, "#/maxAttempts"), ("jobs", {"dedupeKey": ""}, "#/dedupeKey"),
            ("jobs", {"dedupeKey": "x" * 201}, "#/dedupeKey"), ("jobs", {"dedupeKey": "x "}, "#/dedupeKey"),
            ("jobs", {"priority": 1}, "#/priority"),
            ("claims", {"limit": 0}, "#/limit"), ("claims", {"limit": 101}, "#/limit"),
            ("claims", {"leaseMs": 99}, "#/leaseMs"), ("claims", {"leaseMs": 86400001}, "#/leaseMs"),
            ("claims", {"owner": ""}, "#/owner"), ("claims", {"owner": "x" * 129}, "#/owner"),
            (f"jobs/{job['id']}/complete", {}, "#/claimToken"),
            (f"jobs/{job['id']}/complete", {"claimToken": token, "delayMs": 1}, "#/delayMs"),
            (f"jobs/{job['id']}/complete", {"claimToken": token, "lastResult": "x" * 1001}, "#/lastResult"),
            (f"jobs/{job['id']}/retry", {"claimToken": 1}, "#/claimToken"),
            (f"jobs/{job['id']}/retry", {"claimToken": token, "delayMs": -1}, "#/delayMs"),
            (f"jobs/{job['id']}/revive", {"claimToken": token}, "#/claimToken"),
            ("jobs/0/complete", {"claimToken": token}, "#/id"), ("jobs/x/retry", {"claimToken": token}, "#/id"),
        ]
        before = self.db.count("jobs")
        for path, body, pointer in wrong:
            with self.subTest(path=path, body=body):
                reply = self.http.post(self.path(path), body)
                self.assertEqual((reply.status, reply.code), (400, "SYS-003"), reply)
                self.assertEqual(reply.json["errors"][0]["pointer"].lstrip("#"), pointer.lstrip("#"), reply)
        reply = self.http.request("PATCH", self.path("jobs", job["id"]), {"claimToken": token, "delayMs": 1})
        self.assertEqual((reply.status, reply.json["errors"][0]["pointer"]), (400, "#/delayMs"), reply)
        self.assertEqual((self.db.count("jobs"), self.job(job)["status"]), (before, "CLAIMED"))

    def test_names__when_they_are_none__then_400(self):
        for name in ("x" * 201, "lockstock:payments", " x", "x%20", "a%0Ab"):
            for path in ("jobs", "claims"):
                with self.subTest(name=name, path=path):
                    reply = self.http.post(f"/v1/queues/{name.strip() if name != ' x' else '%20x'}/{path}", {})
                    self.assertEqual((reply.status, reply.code), (400, "SYS-003"), reply)
        self.assertNotIn("lockstock:", self.http.get("/v1/queues?limit=500").body.decode())


class OnceForItsDate(Case):
    """docs/recipes.md: a job that must run exactly once for its date. The schedule lock is the trigger, the queue remembers."""

    INSTANCES = 3
    RUN = ["2026-11-30", "2026-12-01"]

    def trigger(self, http, date):
        """What a timer does on each machine; the status of the add, None when another machine has the round."""
        lock = http.put("/v1/schedules/report", {"lockAtMostFor": "PT10M", "lockAtLeastFor": "PT0S"})
        if lock.status == 423:
            return None
        self.assertEqual(lock.status, 201, lock)
        added = http.post("/v1/queues/reports/jobs", {"payload": {"date": date}, "dedupeKey": f"report:{date}"})
        released = http.request("DELETE", "/v1/schedules/report", headers={"Lock-Token": lock.json["token"]})
        self.assertEqual(released.status, 204, released)
        return added.status

    def work(self, http, lease_ms=30000):
        jobs = http.post("/v1/queues/reports/claims", {"limit": 1, "leaseMs": lease_ms}).json["jobs"]
        return jobs[0] if jobs else None

    def complete(self, http, job):
        return http.post(f"/v1/queues/reports/jobs/{job['id']}/complete", {"claimToken": job["claimToken"]}).status

    def test_report__when_timers_run_late_and_workers_die__then_once_for_each_date(self):
        machines = [self.client(n) for n in range(3)]
        for date in self.RUN:
            # At one moment, again by a timer that is late, and again by an operator who is not sure.
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                statuses = list(pool.map(lambda http, d=date: self.trigger(http, d), machines))
            statuses += [self.trigger(http, date) for http in machines]
            self.assertEqual(statuses.count(201), 1, statuses)
            self.assertLessEqual(set(statuses), {201, 200, None})
            dying = self.work(machines[0], lease_ms=300)
            self.assertEqual(dying["payload"], {"date": date})
            taken = eventually(lambda: self.work(machines[1]), 10, "the next worker has it")
            self.assertEqual((taken["id"], taken["attempts"]), (dying["id"], 2))
            self.assertEqual(self.complete(machines[1], taken), 200)
            self.assertEqual(self.complete(machines[0], dying), 410)
            self.assertIsNone(self.work(machines[2]))
            self.assertEqual(self.trigger(machines[2], date), 200)
        done = self.db.rows("SELECT payload FROM jobs WHERE queue='reports' AND status='DONE' ORDER BY id")
        self.assertEqual([json.loads(row["payload"])["date"] for row in done], self.RUN)
        self.assertEqual(self.db.count("jobs", "queue='reports'"), 2)


class Looking(Case):
    """outboxPollingJob frees what nobody asks for any more."""

    FAULTS = "job-at-least=1"
    ENV = {"LOCKSTOCK_JOB_OUTBOX_POLLING_JOB_EVERY": "PT0.2S"}

    def test_expired__when_nobody_claims__then_ready_again_or_dead_by_itself(self):
        path = "/v1/queues/looked-at"
        for attempts in (1, 5):
            self.assertEqual(self.http.post(f"{path}/jobs", {"maxAttempts": attempts}).status, 201)
        claims = self.http.post(f"{path}/claims", {"leaseMs": 300}).json["jobs"]
        status = lambda job: self.http.get(f"{path}/jobs/{job['id']}").json["status"]
        eventually(lambda: [status(job) for job in claims] == ["DEAD", "READY"], 10, "freed")
        reply = self.http.post(f"{path}/jobs/{claims[1]['id']}/complete", {"claimToken": claims[1]["claimToken"]})
        self.assert_problem(reply, 410, "JOB-001", jobStatus="READY")
        eventually(lambda: [self.metric("lockstock_queued_jobs", status=s) for s in ("ready", "claimed", "dead")]
                   == [1, 0, 1], 10, "counted")
        again = self.http.post(f"{path}/claims").json["jobs"]
        self.assertEqual([(job["id"], job["fence"], job["attempts"]) for job in again], [(claims[1]["id"], 2, 2)])


class Access(Case):
    TOKENS = {"worker": ["jobs"], "locker": ["locks"], "boss": ["admin"], "team": ["jobs"]}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rows = [{"name": n, "sha256": hashlib.sha256(n.encode()).hexdigest(), "scopes": s} for n, s in cls.TOKENS.items()]
        rows[-1]["prefixes"] = ["team/"]
        path = os.path.join(cls.stack.folder, "queue-tokens.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"tokens": rows}, file)
        cls.guarded = cls.instance("guarded", env={"LOCKSTOCK_TOKENS_FILE": path}).start()

    def as_user(self, name):
        client = self.guarded.http(headers=[("Authorization", f"Bearer {name}")])
        self.addCleanup(client.close)
        return client

    def test_scope__when_it_lacks__then_403_and_revive_needs_admin(self):
        path = "/v1/queues/mail/jobs"
        self.assert_problem(self.as_user("locker").post(path, {}), 403, "SYS-004")
        worker = self.as_user("worker")
        job = worker.post(path, {"maxAttempts": 1}).json
        claim = worker.post("/v1/queues/mail/claims").json["jobs"][0]
        self.assertEqual(worker.post(f"{path}/{job['id']}/retry", {"claimToken": claim["claimToken"]}).json["status"], "DEAD")
        self.assertEqual(worker.get(f"{path}/{job['id']}").json["owner"], "worker@127.0.0.1")
        self.assert_problem(worker.post(f"{path}/{job['id']}/revive"), 403, "SYS-004")
        self.assertEqual(self.as_user("boss").post(f"{path}/{job['id']}/revive").status, 200)

    def test_prefixes__then_they_bind_the_names_of_queues(self):
        team, worker = self.as_user("team"), self.as_user("worker")
        self.assertEqual(team.post("/v1/queues/team%2Fa/jobs", {}).status, 201)
        worker.post("/v1/queues/other/jobs", {})
        for method, path in (("POST", "jobs"), ("POST", "claims"), ("GET", "jobs"), ("GET", "jobs/1"),
                             ("PATCH", "jobs/1")):
            body = {"claimToken": "x"} if method == "PATCH" else {} if method == "POST" else None
            self.assert_problem(team.request(method, f"/v1/queues/other/{path}", body), 403, "SYS-004")
        shown = [q["queue"] for q in team.get("/v1/queues").json["items"]]
        self.assertIn("team/a", shown)
        self.assertTrue(all(q.startswith("team/") for q in shown), shown)
        self.assertLessEqual({"team/a", "other"}, {q["queue"] for q in worker.get("/v1/queues").json["items"]})

    def test_list__when_prefixes_hide_names__then_its_cursors_tell_of_none(self):
        team, boss = self.as_user("team"), self.as_user("boss")
        for queue in ("a-secret", "team", "team%2Fm", "team%2Fn", "team-secret", "z-secret", "zz-secret"):
            self.assertEqual(boss.post(f"/v1/queues/{queue}/jobs", {}).status, 201)
        queues = [q["queue"] for q in self.paged(team, "/v1/queues", "secret")]
        self.assertEqual([q for q in queues if q != "team/a"], ["team/m", "team/n"])


if __name__ == "__main__":
    main()
