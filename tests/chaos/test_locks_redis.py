"""Redis forgets, dies, is cut off, or hands over to a replica while many clients take locks: fences never repeat or go
back, holders learn of a loss at their next renewal, and nothing stays held that nobody knows of."""

import asyncio
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.holders import FULL, Wire, acquire, fence_faults, lock_path, overlaps
from support.load import Background
from support.locks import LockCase
from support.relay import Relay
from support.stack import Redis
from support.wait import RANDOM, eventually

CLIENTS, NAMES = 16, 3
CUT_S = 60 if FULL else 2
PAUSE_S = 0.01


class Contenders:
    """A thread of clients that take, hold for a moment and release a few names through all instances, until stop()."""

    def __init__(self, ports, names, **terms):
        self.ports, self.names, self.terms = ports, names, dict({"ttlMs": 2000, "waitMs": 500}, **terms)
        self.grants, self.by_port, self.refused, self.over = [], {port: 0 for port in ports}, {}, False
        self._thread = Background(lambda: asyncio.run(self._run()))

    def stop(self):
        self.over = True
        self._thread.result()
        return self.grants

    def granted(self, port=None):
        return self.by_port[port] if port else len(self.grants)

    def until_granted(self, more, timeout_s=15):
        """So many more grants through each instance."""
        goals = {port: count + more for port, count in self.by_port.items()}
        eventually(lambda: all(self.by_port[p] >= goal for p, goal in goals.items()), timeout_s, "grants go on")

    async def _run(self):
        await asyncio.gather(*(self._client(n) for n in range(CLIENTS)))

    async def _client(self, number):
        wire = Wire(self.ports[number % len(self.ports)])
        while not self.over:
            grant, refusal = await acquire(wire, RANDOM.choice(self.names), **self.terms)
            if refusal:
                key = (refusal.status, refusal.code)
                self.refused[key] = self.refused.get(key, 0) + 1
                await asyncio.sleep(PAUSE_S)
                continue
            self.grants.append(grant)
            self.by_port[wire.port] += 1
            await asyncio.sleep(RANDOM.random() * 0.004)
            grant.ended = time.monotonic()
            await wire.request("DELETE", lock_path(grant.name), token=grant.token)
        wire.drop()


class Trouble(LockCase):
    """Instances a and b, each with a relay of its own to a Redis of this test's own."""

    INSTANCES = 0
    FAULTS = None

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="lockstock-redis-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.server = self.new_redis()
        self.relays, self.services[:] = [], []

    def new_redis(self):
        server = Redis(self.folder)
        server.start()
        self.addCleanup(server.kill)
        return server

    def serve(self, faults=None):
        for name in "ab":
            relay = Relay(self.server.port)
            self.addCleanup(relay.close)
            self.relays.append(relay)
            one = self.instance(name, faults=faults, env={"LOCKSTOCK_REDIS_URL": f"redis://127.0.0.1:{relay.port}"})
            self.addCleanup(one.kill)
            one.start()
        self.until_redis()
        self.http = self.client()
        self.addCleanup(self.end)

    def end(self):
        for one in self.services:
            self.assertEqual(one.stop(), 0)

    def contend(self, **terms):
        names = [self.name() for _ in range(NAMES)]
        load = Contenders([s.port for s in self.services], names, **terms)
        self.addCleanup(setattr, load, "over", True)
        load.until_granted(20)
        return load

    def judge(self, load, lossless=False):
        grants = load.stop()
        print(f"    {len(grants)} grants, refused {load.refused}", file=sys.stderr)
        self.assertEqual(fence_faults(grants)[:3], [])
        if lossless:
            self.assertEqual(overlaps(grants)[:3], [])

    def assert_lost(self, grant, *reasons, number=0):
        reply = self.patch(grant["name"], grant["token"], http=self.client(number))
        problem = self.assert_problem(reply, 410, "LCK-002")
        self.assertIn(problem["reason"], reasons)


class Forgetting(Trouble):

    def test_flushall__when_under_load__then_fences_go_on_and_holders_are_told(self):
        self.serve()
        load = self.contend()
        for _ in range(5):
            holder = self.held(self.name())
            self.server.call("FLUSHALL")
            self.assert_lost(holder, "unknown", number=RANDOM.randrange(2))
            load.until_granted(20)
            again = self.held(holder["name"])
            self.assertGreater(again["fence"], holder["fence"])
            self.let_go(again)
        self.judge(load)

    def test_flushall__when_no_new_epoch_is_drawn__then_fences_repeat(self):
        """The proof that the test above can fail."""
        self.serve(faults="no-new-epoch")
        load = self.contend()
        self.server.call("FLUSHALL")
        load.until_granted(30)
        self.assertNotEqual(fence_faults(load.stop()), [])

    def test_kill__when_restarted_under_load__then_fences_go_on_and_holders_are_told(self):
        self.serve()
        load = self.contend()
        for _ in range(3):
            holder = self.held(self.name())
            self.server.kill()
            eventually(lambda: self.patch(holder["name"], holder["token"]).status == 503, 5, "away")
            self.server.start()
            self.until_redis()
            self.assert_lost(holder, "unknown", number=RANDOM.randrange(2))
            load.until_granted(20)
            again = self.held(holder["name"])
            self.assertGreater(again["fence"], holder["fence"])
        self.judge(load)


class Cut(Trouble):

    def held_keys(self, load):
        return [name for name in load.names if self.server.call("EXISTS", name)]

    def test_network__when_cut_for_all__then_nobody_is_granted_and_all_goes_on(self):
        self.serve()
        load = self.contend()
        long_, short = self.held(self.name(), ttlMs=300000), self.held(self.name(), ttlMs=400)
        for relay in self.relays:
            relay.cut()
        for number in (0, 1):
            there = self.client(number)
            eventually(lambda: self.patch(long_["name"], long_["token"], http=there).status == 503, 5, "cut off")
        before = load.granted()
        time.sleep(CUT_S)
        self.assertEqual(load.granted(), before, "no grant without Redis")
        for relay in self.relays:
            relay.heal()
        self.until_redis()
        self.assertEqual(self.patch(long_["name"], long_["token"]).status, 200, "the lease was there all the time")
        self.assert_lost(short, "expired")
        load.until_granted(20)
        self.judge(load, lossless=True)

    def test_network__when_cut_for_one__then_the_other_goes_on_and_losers_are_told(self):
        self.serve()
        load = self.contend(ttlMs=1000)
        short, a, b = self.held(self.name(), ttlMs=800), self.services[0].port, self.services[1].port
        self.relays[0].cut()
        eventually(lambda: self.patch(short["name"], short["token"]).status == 503, 5, "cut off")
        before = load.granted(a)
        reply = self.put(short["name"], self.client(1), waitMs=5000)
        self.assertEqual(reply.status, 201, "free when the lease has ended")
        self.assertGreater(reply.json["fence"], short["fence"])
        self.assert_lost(short, "expired", number=1)
        goal = load.granted(b) + 50 * (1 + FULL)
        eventually(lambda: load.granted(b) >= goal, 15, "b grants")
        time.sleep(CUT_S)
        self.assertEqual(load.granted(a), before)
        self.relays[0].heal()
        self.until_redis()
        self.assert_lost(short, "expired")
        load.until_granted(20)
        self.judge(load, lossless=True)

    def cut_once(self):
        """Short, so that all sorts of calls are on their way; back when both instances have Redis again."""
        for relay in self.relays:
            relay.cut()
        eventually(lambda: all(s.get("/readyz").json["degraded"] for s in self.services), 5, "cut off")
        for relay in self.relays:
            relay.heal()
        self.until_redis()

    def test_network__when_calls_were_on_their_way__then_nothing_stays_held(self):
        """Leases so long that none ends by itself."""
        self.serve()
        load = self.contend(ttlMs=60000)
        for _ in range(6):
            self.cut_once()
            load.until_granted(5)
        grants = load.stop()
        eventually(lambda: not self.held_keys(load), 10, "free")
        self.assertEqual((overlaps(grants)[:3], fence_faults(grants)[:3]), ([], []))

    def test_network__when_acquires_have_no_last_moment__then_a_name_stays_held(self):
        """The proof that the test above can fail."""
        self.serve(faults="no-not-after")
        load = self.contend(ttlMs=60000)

        def stuck():
            self.cut_once()
            before = {name: self.server.call("HKEYS", name) for name in load.names}
            time.sleep(0.3)
            return [name for name, holder in before.items() if holder and self.server.call("HKEYS", name) == holder]
        eventually(stuck, 30, "a name that nobody knows to be held")
        load.stop()


class Promotion(Trouble):

    def replica_behind(self, relay):
        """A replica that has caught up, behind a link that can be cut."""
        self.server.call("CONFIG", "SET", "repl-diskless-sync-delay", 0)
        replica = self.new_redis()
        replica.call("REPLICAOF", "127.0.0.1", relay.port)
        eventually(lambda: "master_link_status:up" in replica.call("INFO", "replication"), 10, "in step")
        return replica

    def promoted(self):
        """The primary dies and a replica that has missed its last writes takes over. (load, a grant that the replica has
        seen, one that it has not)"""
        link = Relay(self.server.port)
        self.addCleanup(link.close)
        load = self.contend()
        replica = self.replica_behind(link)
        kept = self.held(self.name())
        eventually(lambda: replica.call("EXISTS", kept["name"]), 5, "replicated")
        link.cut()
        lost = self.held(self.name())
        load.until_granted(50)
        drawn = [int(server.call("HGET", "lockstock:fence", "n")) for server in (replica, self.server)]
        self.assertLess(drawn[0], drawn[1], "the replica has missed numbers that were given")
        self.server.kill()
        replica.call("REPLICAOF", "NO", "ONE")
        for relay in self.relays:
            relay.retarget(replica.port)
        self.until_redis()
        return load, kept, lost

    def test_promotion__when_the_last_writes_are_lost_under_load__then_fences_go_on_and_holders_are_told(self):
        self.serve()
        load, kept, lost = self.promoted()
        self.assert_lost(lost, "unknown", number=RANDOM.randrange(2))
        self.assertEqual(self.patch(kept["name"], kept["token"]).json["fence"], kept["fence"])
        load.until_granted(50)
        again = self.held(lost["name"])
        self.assertGreater(again["fence"], lost["fence"])
        self.judge(load)

    def test_promotion__when_any_process_is_trusted__then_fences_repeat(self):
        """The proof that the test above can fail."""
        self.serve(faults="no-run-id")
        load, _, _ = self.promoted()
        load.until_granted(50)
        self.assertNotEqual(fence_faults(load.stop()), [])


if __name__ == "__main__":
    main()
