"""Long lines: a thousand waiters in order with one Redis call per hand-over, two instances in turns, ten thousand
parked requests in little memory. Times are printed; only what no slow machine excuses is asserted."""

import asyncio
import os
import re
import resource
import select
import statistics
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.client import Http
from support.holders import FULL, Wire, acquire, lock_path
from support.locks import LockCase, Parked
from support.wait import SLOW, eventually

LINE = 1000
CROWD = 10000
CROWD_USED = 5000
CROWD_SERVED = CROWD if FULL else 500
DESCRIPTORS = CROWD + 300
WAITER_BYTES_MAX = 8192
USED_BYTES_MAX = 12288  # of a connection that has carried a request: the library keeps its 8 KiB
LOCAL_HANDOVERS = 8  # in a row while others wait (locks/internal.h)


class LineCase(LockCase):
    INSTANCES = 0

    def serve(self, count=1, faults=None):
        self.services[:] = []
        for name in "ab"[:count]:
            one = self.instance(name, faults=faults).start()
            self.addCleanup(one.kill)
        self.until_redis()
        self.http = self.client()
        return self.services[0]

    def waiters(self, name, number=0):
        return self.services[number].get(self.path(name)).json["waiters"]

    def line(self, name, count, ordered=True):
        """So many waiters; ordered: each is counted before the next comes."""
        before, line = self.waiters(name), []
        for number in range(count):
            one = Parked(self.services[0].port, self.path(name), {"waitMs": 300000, "ttlMs": 120000})
            self.addCleanup(one.close)
            line.append(one)
            while ordered and self.http.get(self.path(name)).json["waiters"] < before + number + 1:
                pass
        eventually(lambda: self.waiters(name) == before + count, 10 * SLOW, "all are parked")
        return line

    def hand_over(self, holder, next_):
        """(the next grant, seconds from sending the release to having the next holder's whole reply)."""
        begun = time.monotonic()
        self.let_go(holder)
        reply = next_.reply(10 * SLOW)
        self.assertEqual(reply.status, 201, reply)
        return reply.json, time.monotonic() - begun

    def script_calls(self):
        stats = self.redis.call("INFO", "commandstats")
        return sum(int(n) for n in re.findall(r"cmdstat_eval(?:sha)?:calls=(\d+)", stats))


class Order(LineCase):

    def run_line(self, count, faults=None):
        """(hand-over times, script calls) of a line served from its head to its end; who comes next must be next."""
        self.serve(faults=faults)
        name = self.name()
        holder = self.held(name, ttlMs=120000)
        line = self.line(name, count)
        fences, times, before = [holder["fence"]], [], self.script_calls()
        for one in line:
            holder, took = self.hand_over(holder, one)
            fences.append(holder["fence"])
            times.append(took)
        calls = self.script_calls() - before
        self.assertEqual(fences, list(range(fences[0], fences[0] + len(fences))), "each the next number")
        self.let_go(holder)
        return times, calls

    def test_line__when_a_thousand_wait__then_granted_in_order_with_one_call_each(self):
        begun = time.monotonic()
        times, calls = self.run_line(LINE)
        seconds, ordered = time.monotonic() - begun, sorted(times)
        print(f"    hand-over, as the clients see it: median {statistics.median(times) * 1000:.2f} ms, p99 "
              f"{ordered[int(len(ordered) * 0.99)] * 1000:.2f} ms, max {ordered[-1] * 1000:.2f} ms; {calls / LINE:.3f} "
              "script calls each", file=sys.stderr)
        self.assertGreaterEqual(calls, LINE)
        self.assertLessEqual(calls, LINE + 10 + 3 * seconds, "one each, besides a head's look and the sweep")
        self.assertLess(statistics.median(times), 0.02 * SLOW)
        self.assertLess(ordered[int(len(ordered) * 0.99)], 0.2 * SLOW)
        self.assertGreaterEqual(self.services[0].metric("lockstock_lock_handovers_total"), LINE)

    def test_line__when_releases_hand_nothing_on__then_two_calls_each(self):
        """The proof that the count above can fail."""
        _, calls = self.run_line(50, faults="no-handover")
        self.assertGreaterEqual(calls, 100)
        self.assertEqual(self.services[0].metric("lockstock_lock_handovers_total"), 0)


class Turns(LineCase):
    """Waiters that come alternately to two instances, and how many are granted before each."""

    EACH = 100

    async def _wait(self, wire, name, number, served):
        grant, refusal = await acquire(wire, name, waitMs=60000, ttlMs=60000)
        if refusal:
            raise AssertionError(f"waiter {number}: {refusal}")
        served.append(number)
        await wire.request("DELETE", lock_path(name), token=grant.token)
        wire.drop()

    async def _come(self, name, holder):
        served, tasks = [], []
        for number in range(2 * self.EACH):
            wire = Wire(self.services[number % 2].port)
            tasks.append(asyncio.create_task(self._wait(wire, name, number, served)))
            await asyncio.sleep(0)
        for number in (0, 1):
            there = Wire(self.services[number].port)
            while (await there.request("GET", lock_path(name))).json["waiters"] < self.EACH:
                await asyncio.sleep(0.01)
            there.drop()
        wire = Wire(self.services[0].port)
        await wire.request("DELETE", lock_path(name), token=holder["token"])
        await asyncio.gather(*tasks)
        wire.drop()
        return served

    def overtaken(self, faults=None):
        """Of each waiter: how many were granted before it, beyond twice those who stood before it in both lines."""
        self.serve(2, faults)
        name = self.name()
        begun = time.monotonic()
        served = asyncio.run(self._come(name, self.held(name, ttlMs=60000)))
        self.assertEqual(sorted(served), list(range(2 * self.EACH)))
        most = max(place - 2 * number for place, number in enumerate(served))
        print(f"    {len(served)} grants in {time.monotonic() - begun:.1f} s, at most {most} beyond the double",
              file=sys.stderr)
        return most

    def test_turns__when_both_have_a_line__then_nobody_waits_more_than_about_twice_its_share(self):
        self.assertLessEqual(self.overtaken(), 4 * LOCAL_HANDOVERS)

    def test_turns__when_an_instance_never_yields__then_the_others_waiters_do(self):
        """The proof that the test above can fail."""
        self.assertGreater(self.overtaken("no-yield"), 4 * LOCAL_HANDOVERS)


class Used:
    """A connection that has carried a request, and then waits for a lock."""

    def __init__(self, port, path):
        self.path, self._client = path, Http(port, timeout_s=60)
        self._client.get("/healthz")

    def wait(self):
        data = b'{"waitMs": 300000, "ttlMs": 120000}'
        head = f"PUT {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        self._client._socket.sendall((head + f"Content-Length: {len(data)}\r\n\r\n").encode() + data)  # pylint: disable=protected-access

    def close(self):
        self._client.close()


class Crowd(LineCase):

    def rss(self, service):
        with open(f"/proc/{service.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) * 1024

    def enough_descriptors(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < DESCRIPTORS:
            raise unittest.SkipTest(f"{CROWD} connections need {DESCRIPTORS} descriptors, this user may have {hard}")
        if soft < DESCRIPTORS:
            resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))
            self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

    def test_crowd__when_ten_thousand_wait__then_little_memory_each_and_all_are_answered(self):
        self.enough_descriptors()
        service = self.serve()
        name = self.name()
        holder = self.held(name, ttlMs=600000)
        first = self.line(name, 100)  # what the first of them cost is not theirs alone
        before, begun = self.rss(service), time.monotonic()
        line = first + self.line(name, CROWD - len(first), ordered=False)
        each = (self.rss(service) - before) / (CROWD - len(first))
        print(f"    {each:.0f} bytes a waiter, parked in {time.monotonic() - begun:.1f} s", file=sys.stderr)
        if SLOW == 1:
            self.assertLessEqual(each, WAITER_BYTES_MAX)  # a sanitizer's memory is its own
        self.assert_problem(self.put(name, waitMs=1000), 429, "LCK-004")
        holder, rest = self.serve_some(holder, line, CROWD_SERVED)
        self.answer_rest(service, holder, rest)

    def test_crowd__when_their_connections_have_been_used_before__then_little_memory_beside_these(self):
        self.enough_descriptors()
        service = self.serve()
        name = self.name()
        self.held(name, ttlMs=600000)
        sizes, used = [self.rss(service)], []
        for _ in range(CROWD_USED):
            used.append(Used(service.port, self.path(name)))
            self.addCleanup(used[-1].close)
        sizes.append(self.rss(service))
        for one in used:
            one.wait()
        eventually(lambda: self.waiters(name) == CROWD_USED, 20 * SLOW, "all are parked")
        sizes.append(self.rss(service))
        connection, waiter = ((after - before) / CROWD_USED for before, after in zip(sizes, sizes[1:]))
        print(f"    {waiter:.0f} bytes a waiter, beside {connection:.0f} of its connection", file=sys.stderr)
        if SLOW == 1:
            self.assertLessEqual(waiter, WAITER_BYTES_MAX / 2)
            self.assertLessEqual(connection, USED_BYTES_MAX)

    def serve_some(self, holder, waiting, count):
        """Hand-over by hand-over, to whoever it is; (the holder, those who wait on)."""
        epoll, by_fd, times = select.epoll(), {one.socket.fileno(): one for one in waiting}, []
        for fd in by_fd:
            epoll.register(fd, select.EPOLLIN)
        while by_fd and len(times) < count:
            begun = time.monotonic()
            self.let_go(holder)
            ready = epoll.poll(10 * SLOW)
            self.assertEqual(len(ready), 1, "one is granted at a time")
            reply = by_fd.pop(ready[0][0]).reply()
            times.append(time.monotonic() - begun)
            epoll.unregister(ready[0][0])
            self.assertEqual(reply.status, 201, reply)
            self.assertGreater(reply.json["fence"], holder["fence"])
            holder = reply.json
        print(f"    {len(times)} served, median {statistics.median(times) * 1000:.2f} ms", file=sys.stderr)
        return holder, list(by_fd.values())

    def answer_rest(self, service, holder, rest):
        """One more is granted; then the instance drains, and nobody is left without an answer."""
        self.let_go(holder)
        service.terminate()
        statuses = [one.reply(20 * SLOW).status for one in rest]
        self.assertLessEqual(set(statuses), {201, 503})
        self.assertLessEqual(statuses.count(201), 1)
        self.assertEqual(service.exit_status(15), 0)


if __name__ == "__main__":
    main()
