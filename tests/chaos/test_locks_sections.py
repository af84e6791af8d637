"""Critical sections on a counter that nothing protects but the lock: 64 clients over two instances, some of which die,
oversleep or hang up. By the holders' own clocks no two sections overlap, fences grow, and who lost is told."""

import asyncio
import collections
import os
import secrets
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.holders import FULL, Wire, acquire, draw_fate, fence_faults, lock_path, overlaps
from support.locks import LockCase
from support.wait import RANDOM, SLOW

CLIENTS = 64
SECTIONS = 20000 if FULL else 3000
TTL_MS, SHORT_TTL_MS = int(4000 * SLOW), 150
# What becomes of a section, in thousandths; the rest does its work and releases.
FATES = {"die": 8, "oversleep": 8, "hang up": 8, "renew": 40}


class Counter:
    """A variable that many read and write; who writes shows a fence."""

    def __init__(self):
        self.value = self.writes = self.highest = 0
        self.stale = []

    async def add(self, grant):
        """Read, a moment, write: an overlap loses an addition. False when the lease ended in between."""
        seen = self.value
        await asyncio.sleep(0)
        if time.monotonic() >= grant.deadline:
            return False
        if grant.fence is not None and grant.fence <= self.highest:
            self.stale.append((grant.fence, self.highest))
        self.highest = max(self.highest, grant.fence or 0)
        self.value, self.writes = seen + 1, self.writes + 1
        return True


class Crowd:
    """CLIENTS tasks that share the sections among them."""

    def __init__(self, ports, name, sections, **terms):
        self.ports, self.name, self.left, self.terms = ports, name, sections, terms
        self.counter, self.grants, self.faults = Counter(), [], []
        self.fates, self.told = collections.Counter(), collections.Counter()

    def run(self):
        begun = time.monotonic()
        asyncio.run(self._run())
        print(f"    sections: {len(self.grants)} in {time.monotonic() - begun:.1f} s, {dict(self.fates)}, told "
              f"{dict(self.told)}", file=sys.stderr)
        return self

    async def _run(self):
        await asyncio.gather(*(self._client(n) for n in range(CLIENTS)))

    async def _client(self, number):
        wire = Wire(self.ports[number % len(self.ports)])
        while self.left > 0:
            self.left -= 1
            fate = draw_fate(FATES)
            self.fates[fate] += 1
            await self._section(wire, fate)
        wire.drop()

    async def _section(self, wire, fate):
        ttl_ms = TTL_MS if fate in ("work", "renew") else SHORT_TTL_MS
        terms = dict(self.terms, ttlMs=ttl_ms, waitMs=60000)
        if RANDOM.randrange(2):
            terms["token"] = secrets.token_hex(16)
        if fate == "hang up":
            await self._hang_up(wire, terms)
            return
        grant, refusal = await acquire(wire, self.name, **terms)
        if refusal:
            self.faults.append(f"refused: {refusal}")
            return
        self.grants.append(grant)
        ways = {"die": self._die, "oversleep": self._oversleep, "renew": self._renew, "work": self._work}
        await ways[fate](wire, grant)

    async def _hang_up(self, wire, terms):
        try:
            await asyncio.wait_for(acquire(wire, self.name, **terms), RANDOM.random() * 0.2)
        except asyncio.TimeoutError:
            pass
        wire.drop()

    async def _die(self, wire, grant):
        await self.counter.add(grant)
        grant.ended = time.monotonic()
        wire.drop()

    async def _oversleep(self, wire, grant):
        await self.counter.add(grant)
        await asyncio.sleep(grant.received + (SHORT_TTL_MS + 50) / 1000 - time.monotonic())
        method = RANDOM.choice(("PATCH", "DELETE"))
        reply = await wire.request(method, lock_path(grant.name), token=grant.token)
        if reply.status != 410 or reply.json["reason"] != "expired":
            self.faults.append(f"a loser heard {reply}")
        self.told[f"expired at {method}"] += reply.status == 410

    async def _renew(self, wire, grant):
        sent = time.monotonic()
        reply = await wire.request("PATCH", lock_path(grant.name), {"ttlMs": TTL_MS}, grant.token)
        if reply.status != 200:
            self._lost(grant, reply)
            return
        if reply.json["fence"] != grant.fence:
            self.faults.append(f"renewed {grant.fence}: {reply}")
        grant.deadline = sent + reply.json["safeForMs"] / 1000
        await self._work(wire, grant)

    async def _work(self, wire, grant):
        await self.counter.add(grant)
        grant.ended = time.monotonic()
        reply = await wire.request("DELETE", lock_path(grant.name), token=grant.token)
        if reply.status != 204:
            self._lost(grant, reply)

    def _lost(self, grant, reply):
        """Only after its own clock said so."""
        self.told[f"{reply.status} after {'its' if time.monotonic() > grant.deadline else 'NO'} deadline"] += 1
        if reply.status != 410 or time.monotonic() <= grant.deadline:
            self.faults.append(f"lost before its deadline: {grant} {reply}")


class Sections(LockCase):
    INSTANCES = 2

    def test_sections__when_holders_die_oversleep_and_hang_up__then_no_overlap_and_fences_grow(self):
        crowd = Crowd([s.port for s in self.services], self.name(), SECTIONS).run()
        self.assertEqual(crowd.faults[:3], [])
        self.assertEqual(overlaps(crowd.grants)[:3], [])
        self.assertEqual(fence_faults(crowd.grants)[:3], [])
        usable = [g.fence for g in sorted(crowd.grants, key=lambda g: g.received) if g.until > g.received]
        self.assertEqual(usable, sorted(set(usable)), "strictly up in the order in which they were held")
        self.assertEqual((crowd.counter.value, crowd.counter.stale[:3]), (crowd.counter.writes, []))
        self.assertGreater(crowd.counter.writes, SECTIONS * 0.9)
        for fate in FATES:
            self.assertGreater(crowd.fates[fate], 0, fate)
        self.assertEqual(crowd.told["expired at PATCH"] + crowd.told["expired at DELETE"], crowd.fates["oversleep"])


class Unprotected(LockCase):
    """The proof that the test above can fail: the same crowd with grants that nothing protects."""

    INSTANCES = 0

    def test_sections__when_nothing_excludes__then_the_judges_notice(self):
        one = self.instance("open", env={"LOCKSTOCK_REDIS_URL": ""}).start()
        crowd = Crowd([one.port], self.name(), 300, onRedisDown="open").run()
        self.assertNotEqual(overlaps(crowd.grants), [])
        self.assertLess(crowd.counter.value, crowd.counter.writes)


if __name__ == "__main__":
    main()
