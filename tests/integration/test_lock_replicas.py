"""Grants that are told of only once replicas have them (LOCKSTOCK_REDIS_WAIT_REPLICAS)."""

import concurrent.futures
import itertools
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.locks import LockCase, Parked, token
from support.stack import Redis
from support.wait import eventually

WAIT_MS = 1500


class ReplicaCase(LockCase):
    """One primary, one replica, and an instance that waits for it."""

    ENV = {"LOCKSTOCK_REDIS_WAIT_REPLICAS": 1, "LOCKSTOCK_REDIS_WAIT_MS": WAIT_MS, "LOCKSTOCK_REDIS_TIMEOUT_MS": 2000}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.redis.call("CONFIG", "SET", "repl-diskless-sync-delay", "0")
        cls.replica = Redis(cls.stack.folder, "--replicaof", "127.0.0.1", str(cls.redis.port), name=f"replica-{cls.__name__}")
        cls.replica.start()
        cls.addClassCleanup(cls.replica.kill)
        cls.until_following()

    @classmethod
    def until_following(cls):
        """It acknowledges a write made now."""
        client = cls.redis.client()
        try:
            eventually(lambda: client.call("SET", "seen", 1, "PX", 1000) and client.call("WAIT", 1, 300) == 1, 20,
                       "the replica follows")
        finally:
            client.close()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.until_following)
        self.addCleanup(self.replica.thaw)

    def asked(self, kind):
        """Path and body of one way to take something new."""
        if kind == "set":
            return "/v1/locks", {"names": [self.name(), self.name()]}
        if kind == "semaphore":
            return self.path(self.name()).replace("/locks/", "/semaphores/"), {"limit": 2}
        return self.path(self.name()), {"kind": kind}

    def take_until(self, over):
        """One client: names granted to it, and how many it was refused."""
        granted, refused, mine = [], 0, self.name_of_its_own()
        for name in mine:
            if over.is_set():
                return granted, refused
            reply = self.service_put(name)
            self.assertIn(reply.status, (201, 503), reply)
            granted, refused = (granted + [name], refused) if reply.status == 201 else (granted, refused + 1)

    def name_of_its_own(self):
        """For threads."""
        first = self.name()
        return (f"{first}/{n}" for n in itertools.count(1))

    def promoted_under_load(self):
        """The replica becomes a primary while clients take names: names granted, those of them it lacks, refusals."""
        over = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            clients = [pool.submit(self.take_until, over) for _ in range(8)]
            try:
                before = self.service.metric("lockstock_lock_grants_total")
                eventually(lambda: self.service.metric("lockstock_lock_grants_total") > before + 100, 10, "under load")
                self.replica.call("REPLICAOF", "NO", "ONE")
                time.sleep(0.3)  # the load goes on for a moment
            finally:
                over.set()
        self.addCleanup(self.replica.call, "REPLICAOF", "127.0.0.1", self.redis.port)
        granted = [name for client in clients for name in client.result()[0]]
        lost = [name for name in granted if not self.replica.call("EXISTS", name)]
        return granted, lost, sum(client.result()[1] for client in clients)

    def unreplicated(self):
        return self.service.metric("lockstock_lock_unreplicated_total")


class Replicas(ReplicaCase):

    KINDS = ("lock", "fair", "rw", "set", "semaphore")

    def test_grant__when_the_replica_follows__then_it_has_what_was_granted(self):
        for kind in self.KINDS:
            with self.subTest(kind):
                path, body = self.asked(kind)
                before = self.redis.call("DBSIZE")
                self.assertEqual(self.http.put(path, body).status, 201)
                names = body.get("names") or [path.rsplit("/", 1)[1].replace("%2F", "/")]
                self.assertGreater(self.redis.call("DBSIZE"), before)
                self.assertEqual([self.replica.call("EXISTS", name) for name in names], [1] * len(names))

    def test_grant__when_the_replica_is_silent__then_503_and_given_back(self):
        asked = [self.asked(kind) for kind in self.KINDS]
        before = self.unreplicated()
        self.replica.freeze()
        for path, body in asked:
            with self.subTest(path):
                document = self.assert_problem(self.http.put(path, body), 503, "LCK-003")
                self.assertIn("replicas", document["detail"])
        self.assertEqual(self.unreplicated(), before + len(asked))
        self.replica.thaw()
        self.until_following()
        for path, body in asked:
            self.assertEqual(self.http.put(path, body).status, 201, path)

    def test_hand_over__when_the_replica_is_silent__then_the_next_is_refused_and_the_lock_is_free(self):
        grant = self.held(self.name())
        path = self.path(grant["name"])
        waiter = Parked(self.service.port, path, {"waitMs": 20000})
        self.addCleanup(waiter.close)
        eventually(lambda: self.http.get(path).json["waiters"] == 1, 5, "queued")
        self.replica.freeze()
        self.let_go(grant)
        self.assert_problem(waiter.reply(10), 503, "LCK-003")
        eventually(lambda: not self.http.get(path).json["held"], 5, "given back")
        self.assertEqual(self.patch(grant["name"], grant["token"]).status, 410)

    def test_repeat__when_the_replica_is_silent__then_503_but_what_was_told_stays(self):
        mine = token()
        grant = self.held(self.name(), token=mine)
        self.replica.freeze()
        self.assert_problem(self.put(grant["name"], token=mine), 503, "LCK-003")
        self.assertEqual(self.patch(grant["name"], mine).json["fence"], grant["fence"])
        self.replica.thaw()
        self.until_following()
        self.assertEqual(self.put(grant["name"], token=mine).json["fence"], grant["fence"])

    def test_client__when_it_hangs_up_while_replicas_are_asked__then_given_back(self):
        name = self.name()
        self.replica.freeze()
        gone = Parked(self.service.port, self.path(name), {})
        eventually(lambda: self.redis.call("EXISTS", name), 5, "granted, not told")
        gone.close()
        eventually(lambda: not self.redis.call("EXISTS", name), 5, "given back")

    def test_crowd__when_many_ask_at_once__then_they_share_their_waits(self):
        metric = "lockstock_redis_replica_wait_seconds_count"
        before, names = self.service.metric(metric), [self.name() for _ in range(64)]
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            replies = list(pool.map(self.service_put, names))
        self.assertEqual({r.status for r in replies}, {201})
        self.assertLess(self.service.metric(metric) - before, 64)

    def test_stop__when_replicas_are_asked__then_answered_and_exit_0(self):
        service = self.instance("stops", env=self.ENV).start()
        eventually(lambda: service.get("/readyz").json["degraded"] == [], 20, "Redis is up")
        name = self.name()
        self.replica.freeze()
        parked = Parked(service.port, self.path(name), {})
        self.addCleanup(parked.close)
        eventually(lambda: self.redis.call("EXISTS", name), 5, "granted, not told")
        service.terminate()
        self.assertEqual(parked.reply(10).status, 503)
        self.assertEqual(service.exit_status(15), 0)
        self.assertEqual(self.redis.call("EXISTS", name), 0)

    def test_primary__when_it_goes_while_replicas_are_asked__then_503_and_nothing_is_left(self):
        self.addCleanup(self.until_redis)
        self.addCleanup(self.stack.heal)
        name = self.name()
        self.replica.freeze()
        parked = Parked(self.service.port, self.path(name), {"token": token()})
        self.addCleanup(parked.close)
        eventually(lambda: self.redis.call("EXISTS", name), 5, "granted, not told")
        self.redis.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        self.assert_problem(parked.reply(10), 503, "LCK-003")
        self.until_redis()
        eventually(lambda: not self.redis.call("EXISTS", name), 5, "given back")

    def test_promotion__when_under_load__then_the_new_primary_has_all_that_was_granted(self):
        granted, lost, refused = self.promoted_under_load()
        self.assertTrue(granted and refused)
        self.assertEqual(lost, [])


class Removed(ReplicaCase):

    FAULTS = "no-replica-wait"

    def test_grant__when_nobody_waits_for_the_replica__then_told_of_what_it_lacks(self):
        self.replica.freeze()
        self.held(self.name())

    def test_promotion__when_nobody_waits_for_the_replica__then_grants_are_lost(self):
        _, lost, refused = self.promoted_under_load()
        self.assertTrue(lost)
        self.assertEqual(refused, 0)


class Without(LockCase):

    ENV = {"LOCKSTOCK_REDIS_WAIT_REPLICAS": 1, "LOCKSTOCK_REDIS_WAIT_MS": 50}

    def test_grant__when_there_is_no_replica_at_all__then_503(self):
        self.assert_problem(self.put(self.name()), 503, "LCK-003")
        self.assertEqual(self.http.put(f"/v1/products/{next(self.products)}", {"name": "n", "price": 1, "stock": 1}).status,
                         201)

    def test_database__when_the_name_is_kept_there__then_no_replica_is_asked(self):
        self.assertEqual(self.held(self.name(), store="database")["safety"], "database")


if __name__ == "__main__":
    main()
