"""Many holders of locks in one thread: a client on asyncio, grants with the holder's own clock, and the judges of what
the holders saw. LOCKSTOCK_TEST_FULL=1 makes the chaos tests of the locks as long as their promises."""

import asyncio
import collections
import dataclasses
import heapq
import json
import os
import time
import urllib.parse

from .client import Reply
from .wait import RANDOM

FULL = os.environ.get("LOCKSTOCK_TEST_FULL") == "1"
REPLY_S = 90


class Wire:
    """One keep-alive connection."""

    def __init__(self, port):
        self.port, self._reader, self._writer = port, None, None

    async def request(self, method, path, body=None, token=None):
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port)
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        head += f"Lock-Token: {token}\r\n" if token else ""
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n" if data else ""
        self._writer.write(head.encode() + b"\r\n" + data)
        try:
            return await asyncio.wait_for(self._receive(), REPLY_S)
        except BaseException:
            self.drop()
            raise

    async def _receive(self):
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        lines = [tuple(line.split(": ", 1)) for line in head[1:] if line]
        reply = Reply(int(head[0].split(" ")[1]), lines, b"")
        if length := int(reply.headers.get("content-length", 0)):
            reply.body = await self._reader.readexactly(length)
        if reply.headers.get("connection", "").lower() == "close":
            self.drop()
        return reply

    def drop(self):
        """The client dies: its connection is reset."""
        if self._writer:
            self._writer.transport.abort()
        self._reader = self._writer = None


def draw_fate(fates):
    """What becomes of a holder: one of `fates` by its thousandths, "work" for the rest."""
    number = RANDOM.randrange(1000)
    for fate, share in fates.items():
        if number < share:
            return fate
        number -= share
    return "work"


LOCKS, SEMAPHORES = "/v1/locks/", "/v1/semaphores/"


def lock_path(name, under=LOCKS):
    return under + urllib.parse.quote(name, safe="")


@dataclasses.dataclass
class Grant:
    """What one holder knows, by one monotonic clock. It holds from received to ended, and never after deadline."""

    name: str
    token: str
    fence: int
    sent: float
    received: float
    deadline: float
    ended: float = 0.0
    permits: int = 1

    @property
    def until(self):
        return min(self.ended or self.deadline, self.deadline)


async def acquire(wire, name, under=LOCKS, **body):
    """(grant, None), or (None, the refusal). A long wait goes on with its ticket."""
    while True:
        sent = time.monotonic()
        reply = await wire.request("PUT", lock_path(name, under), body)
        received = time.monotonic()
        if reply.status != 202:
            break
        body["token"] = reply.json["token"]
    if reply.status not in (200, 201):
        return None, reply
    told = reply.json
    deadline = sent + (told["waitedMs"] + told["safeForMs"]) / 1000
    return Grant(name, told["token"], told["fence"], sent, received, deadline, permits=told.get("permits", 1)), None


# -- judges

def overlaps(grants):
    """Pairs of grants of one name of which the later began before the earlier had ended, by their holders' clocks."""
    found, last = [], {}
    for grant in sorted(grants, key=lambda g: g.received):
        if grant.until <= grant.received:
            continue  # it came too late to be used at all
        before = last.get(grant.name)
        if before and before.until > grant.received:
            found.append((before, grant))
        if not before or grant.until > before.until:
            last[grant.name] = grant
    return found


def beyond_limit(grants, limit):
    """Moments at which the holders of a name together had more permits than there are, by their own clocks."""
    found = []
    for name in {g.name for g in grants}:
        steps = []
        for grant in (g for g in grants if g.name == name and g.until > g.received):
            steps += [(grant.received, grant.permits), (grant.until, -grant.permits)]
        out = 0
        for moment, change in sorted(steps):
            out += change
            if out > limit:
                found.append((name, moment, out))
    return found


def fence_faults(grants):
    """What is wrong with the fences of each name: one given twice, or one not above all that were known before it was
    asked for."""
    found = []
    for name in {g.name for g in grants}:
        ours = sorted((g for g in grants if g.name == name), key=lambda g: g.sent)
        fences = [g.fence for g in ours]
        found += [f"{name}: {f} given {n} times" for f, n in collections.Counter(fences).items() if n > 1]
        on_the_way, known = [], 0
        for number, grant in enumerate(ours):
            while on_the_way and on_the_way[0][0] <= grant.sent:
                known = max(known, heapq.heappop(on_the_way)[2])
            if grant.fence <= known:
                found.append(f"{name}: {grant.fence} after {known}")
            heapq.heappush(on_the_way, (grant.received, number, grant.fence))
    return found
