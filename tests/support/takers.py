"""A thread of clients that take, hold, renew, outlive or drop what they hold, through instances that may die meanwhile."""

import asyncio
import collections
import secrets
import sys
import time

from .holders import LOCKS, Wire, acquire, draw_fate, lock_path
from .load import Background
from .wait import RANDOM, eventually

PAUSE_S = 0.01
# What becomes of a grant, in thousandths; the rest is held for a moment and released.
FATES = {"die": 30, "oversleep": 20, "renew": 100}


class Takers:
    """`draw()`: the terms of one take. Grants are as their holders knew them; `told` counts what losers heard, `faults` is
    what nobody may hear."""

    def __init__(self, ports, names, draw, clients=16, under=LOCKS):
        self.ports, self.names, self.draw, self.under = ports, names, draw, under
        self.grants, self.told, self.refused, self.faults = [], collections.Counter(), collections.Counter(), []
        self.by_port, self.over = collections.Counter(), False
        self._thread = Background(lambda: asyncio.run(self._run(clients)))

    def stop(self):
        self.over = True
        self._thread.result(90)
        print(f"    {len(self.grants)} grants, refused {dict(self.refused)}, told {dict(self.told)}", file=sys.stderr)
        return self.grants

    def until_granted(self, more, timeout_s=20):
        """So many more grants through each instance."""
        goals = {port: self.by_port[port] + more for port in self.ports}
        eventually(lambda: all(self.by_port[p] >= goal for p, goal in goals.items()), timeout_s, "grants go on")

    def through_crashes(self, services, rounds, grants):
        """Instances are killed and started again in turn; each time grants go on through all."""
        for number in range(rounds):
            service = services[number % len(services)]
            service.kill()
            time.sleep(0.05)
            service.start()
            self.until_granted(grants)

    async def _run(self, clients):
        await asyncio.gather(*(self._client(n) for n in range(clients)))

    async def _client(self, number):
        wire = Wire(self.ports[number % len(self.ports)])
        while not self.over:
            try:
                await self._turn(wire)
            except (OSError, EOFError):  # the instance died under it
                self.refused["no answer"] += 1
                wire.drop()
                await asyncio.sleep(PAUSE_S)
        wire.drop()

    async def _turn(self, wire):
        fate, terms = draw_fate(FATES), dict(self.draw())
        if RANDOM.randrange(2):
            terms["token"] = secrets.token_hex(16)
        grant, refusal = await acquire(wire, RANDOM.choice(self.names), self.under, **terms)
        if refusal:
            self.refused[refusal.code] += 1
            await asyncio.sleep(PAUSE_S)
            return
        self.grants.append(grant)
        self.by_port[wire.port] += 1
        await {"die": self._die, "oversleep": self._oversleep, "renew": self._renew, "work": self._work}[fate](
            wire, grant, terms["ttlMs"])

    async def _die(self, wire, grant, _):
        grant.ended = time.monotonic()
        wire.drop()

    async def _oversleep(self, wire, grant, ttl_ms):
        await asyncio.sleep(max(0.0, grant.received + ttl_ms / 1000 + 0.05 - time.monotonic()))
        await self._release(wire, grant, late=True)

    async def _renew(self, wire, grant, ttl_ms):
        sent = time.monotonic()
        reply = await wire.request("PATCH", lock_path(grant.name, self.under), {"ttlMs": ttl_ms}, grant.token)
        if reply.status == 200 and reply.json["fence"] == grant.fence:
            grant.deadline = sent + reply.json["safeForMs"] / 1000
        elif reply.status == 410:
            self.told[reply.json["reason"]] += 1
            grant.ended = sent
            return
        elif reply.status != 503:
            self.faults.append(f"renewed {grant}: {reply}")
        await self._work(wire, grant, ttl_ms)

    async def _work(self, wire, grant, _):
        await asyncio.sleep(RANDOM.random() * 0.005)
        grant.ended = time.monotonic()
        await self._release(wire, grant)

    async def _release(self, wire, grant, late=False):
        reply = await wire.request("DELETE", lock_path(grant.name, self.under), token=grant.token)
        if reply.status == 410:
            self.told[reply.json["reason"]] += 1
        elif reply.status != 503 and (late or reply.status != 204):
            self.faults.append(f"released {'late ' if late else ''}{grant}: {reply}")
