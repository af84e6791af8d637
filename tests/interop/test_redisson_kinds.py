"""Redisson's other kinds and ours on one key: RFairLock, RReadWriteLock, RFencedLock, RPermitExpirableSemaphore.

A test skips, and says so, while the service does not have the kind.
"""

import os
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from exclusive import Exclusive  # pylint: disable=wrong-import-position
from interop import (NO_LEASE, NOT_YET, POLL_MS_MAX, ROUNDS, for_each_redisson,  # pylint: disable=wrong-import-position
                     granted_at, now_ns)
from peers import Peer  # pylint: disable=wrong-import-position
from support.case import main  # pylint: disable=wrong-import-position
from support.client import Http  # pylint: disable=wrong-import-position
from support.locks import Parked  # pylint: disable=wrong-import-position
from support.wait import SLOW, eventually  # pylint: disable=wrong-import-position

SHARED = {"kind": "rw", "mode": "shared"}
EXCLUSIVE = {"kind": "rw", "mode": "exclusive"}


class Fair(Exclusive):
    """getFairLock against kind fair: one queue for both."""

    KIND = "fair"
    OURS = {"kind": "fair"}
    TURN_AFTER_MAX = Exclusive.CROWD  # it came last

    def in_queue(self, name):
        return self.redis.call("LLEN", "redisson_lock_queue:{" + name + "}")

    def queued(self, name, wait):
        """What wait() returns, once it stands in the shared queue."""
        before = self.in_queue(name)
        one = wait()
        eventually(lambda: self.in_queue(name) == before + 1, 5, "queued")
        return one

    def test_order__when_both_wait__then_first_come_first_served(self):
        name, moments = self.name(), []
        grant = self.hold(name)
        line = []
        for number in range(6):
            if number % 2:
                line.append(self.queued(name, lambda: self.parked(name)))
                continue
            theirs = self.remote(name, f"t{number}")
            line.append(self.queued(name, lambda theirs=theirs: theirs.tell("lock", 20000)))
            theirs.tell("unlock")
        self.let_go(grant)
        for number, one in enumerate(line):
            if number % 2:
                moments.append(granted_at(one))
                self.let_go(one.reply().json)
            else:
                one.wait(10)
                moments.append(one.end)
        self.assertEqual(moments, sorted(moments))
        self.remote(name, "t4").ask("isLocked")
        self.assert_untouched(name)

    def test_give_up__when_either_leaves_the_queue__then_the_next_is_not_held_up(self):
        name = self.name()
        grant = self.hold(name)
        gone = self.queued(name, lambda: self.parked(name))
        given_up = self.queued(name, lambda: self.remote(name).tell("tryLock", 300, 20000))
        last = self.queued(name, lambda: self.remote(name, "t2").tell("lock", 20000))
        gone.close()
        self.assertFalse(given_up.wait())
        eventually(lambda: self.in_queue(name) == 1, 3, "two have left")
        begin = now_ns()
        self.let_go(grant)
        last.wait(5)
        self.assertLess((last.end - begin) / 1e6, 500 * SLOW)
        self.remote(name, "t2").unlock()

    def test_try__when_others_are_queued__then_nobody_goes_ahead(self):
        name = self.name()
        theirs = self.remote(name)
        theirs.lock(20000)
        one = self.queued(name, lambda: self.parked(name))
        self.assertFalse(self.remote(name, "t2").try_lock())
        self.assert_refused(self.ours(name))
        theirs.unlock()
        self.assertEqual(one.reply(5).status, 201)
        self.let_go(one.reply().json)


class Write(Exclusive):
    """writeLock against kind rw, mode exclusive."""

    KIND = "write"
    OURS = EXCLUSIVE


class ReadWrite:
    """Readers and writers of both sides."""

    OURS = SHARED

    def both(self, name, actor="t1"):
        return self.remote(name, actor, "read"), self.remote(name, actor, "write")

    def test_readers__when_of_both_sides__then_together_and_writers_out(self):
        name = self.name()
        read, _ = self.both(name)
        other_read, write = self.both(name, "t2")
        shared = self.hold(name, ttlMs=20000)
        read.lock(20000)
        second = self.hold(name, ttlMs=20000)
        self.assertTrue(other_read.try_lock(0, 20000))
        other_read.unlock()
        self.assertFalse(write.try_lock())
        self.assert_refused(self.ours(name, **EXCLUSIVE))
        read.unlock()
        self.assertFalse(write.try_lock(), "ours still read")
        for grant in (shared, second):
            self.assertEqual(self.patch(name, grant["token"]).status, 200, "the peer's unlock took nothing of ours")
            self.let_go(grant)
        self.assertTrue(write.try_lock(0, 20000))
        self.assert_refused(self.ours(name))
        self.assert_refused(self.ours(name, **EXCLUSIVE))
        write.unlock()
        self.assert_untouched(name)

    def test_writer__when_ours__then_no_reader_of_the_peer(self):
        name = self.name()
        read, write = self.both(name)
        grant = self.hold(name, **EXCLUSIVE)
        self.assertFalse(read.try_lock())
        self.assertFalse(write.try_lock())
        self.let_go(grant)
        self.assertTrue(read.try_lock(0, 20000))
        read.unlock()

    def wakes_ours(self, kind, body):
        """The peer's holder of this kind lets go; ours of this body waits."""
        name, waits = self.name(), []
        theirs = self.remote(name, kind=kind)
        for _ in range(ROUNDS):
            theirs.lock(20000)
            one = self.parked(name, **body)
            told = theirs.tell("unlock")
            at = granted_at(one)
            told.wait()
            waits.append(at - told.begin)
            self.let_go(one.reply().json)
        self.assert_prompt(f"{kind} unlocks, ours waits {body['mode']}", waits)

    def wakes_theirs(self, body, kind):
        name, waits = self.name(), []
        theirs = self.remote(name, kind=kind)
        for _ in range(ROUNDS):
            grant = self.hold(name, ttlMs=20000, **body)
            told = self.waiting(theirs, 20000)
            begin = now_ns()
            self.let_go(grant)
            told.wait()
            waits.append(told.end - begin)
            theirs.unlock()
        self.assert_prompt(f"ours released {body['mode']}, {kind} waits", waits)

    def test_wake__when_their_writer_unlocks__then_our_reader_has_it_promptly(self):
        self.wakes_ours("write", SHARED)

    def test_wake__when_their_last_reader_unlocks__then_our_writer_has_it_promptly(self):
        self.wakes_ours("read", EXCLUSIVE)

    def test_wake__when_our_writer_releases__then_their_reader_has_it_promptly(self):
        self.wakes_theirs(EXCLUSIVE, "read")

    def test_wake__when_our_last_reader_releases__then_their_writer_has_it_promptly(self):
        self.wakes_theirs(SHARED, "write")

    def test_wake__when_a_writer_goes__then_all_readers_of_both_sides_come_in(self):
        for writer in ("ours", "theirs"):
            name = self.name()
            _, write = self.both(name)
            grant = self.hold(name, **EXCLUSIVE) if writer == "ours" else write.lock(20000)
            line = [self.parked(name) for _ in range(3)]
            told = [self.waiting(self.remote(name, "r1", "read"), 20000, beside_ours=True),
                    self.remote(name, "r2", "read").tell("lock", 20000)]
            if grant:
                self.let_go(grant)
            else:
                write.unlock()
            grants = [one.reply(5).json for one in line]
            for one in told:
                one.wait(5)
            for grant in grants:
                self.let_go(grant)
            for actor in ("r1", "r2"):
                self.remote(name, actor, "read").unlock()

    def test_downgrade__when_their_writer_becomes_a_reader__then_polling_lets_our_reader_in(self):
        name = self.name()
        read, write = self.both(name)
        write.lock(20000)
        read.lock(20000)
        one = self.parked(name)
        begin = now_ns()
        write.unlock()
        waited_ms = (granted_at(one) - begin) / 1e6
        self.assertLess(waited_ms, POLL_MS_MAX * SLOW)
        self.assertEqual(one.reply().status, 201)
        self.assert_refused(self.ours(name, **EXCLUSIVE))
        read.unlock()
        self.assertEqual(self.patch(name, one.reply().json["token"]).status, 200)
        self.let_go(one.reply().json)

    def test_reentry__when_their_reader_locks_twice__then_our_writer_waits_for_both(self):
        name = self.name()
        read, _ = self.both(name)
        read.lock(20000)
        read.lock(20000)
        read.unlock()
        self.assert_refused(self.ours(name, **EXCLUSIVE))
        read.unlock()
        self.let_go(self.hold(name, **EXCLUSIVE))
        self.assert_untouched(name)

    def test_expiry__when_one_reader_of_many_ends__then_the_others_stay(self):
        name = self.name()
        read, write = self.both(name)
        self.hold(name, ttlMs=400)
        kept = self.hold(name, ttlMs=20000)
        read.lock(600)
        time.sleep(0.8)
        self.assertFalse(write.try_lock())
        self.assertEqual(self.patch(name, kept["token"]).status, 200)
        self.let_go(kept)
        eventually(lambda: write.try_lock(0, 1000), 3, "nobody reads")
        write.unlock()

    def test_watchdog__when_it_cuts_the_hash_to_its_own_timeout__then_our_longer_lease_is_put_back(self):
        slow = Peer.shared(self.stack, self.PEER, 30000)
        name = self.name()
        theirs = self.remote(name, kind="read", peer=slow)
        grant = self.hold(name, ttlMs=300000)
        theirs.lock(NO_LEASE)
        eventually(lambda: self.redis.call("PTTL", name) <= 30000, 15, "renewed by their watchdog")
        eventually(lambda: self.redis.call("PTTL", name) > 30000, 12, "our lease is put back")
        slow.kill()
        self.let_go(grant)


class Fenced(Exclusive):
    """getFencedLock against kind lock, on names whose fences go up together."""

    KIND = "fenced"
    ENV = {"LOCKSTOCK_REDISSON_FENCED": "t/"}

    def test_tokens__when_both_hold_in_turn__then_they_only_grow(self):
        name, seen = self.name(), []
        fences = []
        for _ in range(3):
            seen.append(int(self.ask("tokenOf", name, 0, 20000)))
            self.remote(name).unlock()
            grant = self.hold(name)
            fences.append(grant["fence"])
            self.let_go(grant)
            seen.append(int(self.redis.call("GET", "redisson_lock_token:{" + name + "}")))
        self.assertEqual(seen, sorted(set(seen)))
        self.assertEqual(fences, sorted(set(fences)))
        self.assertEqual(int(self.ask("token", name)), seen[-1])


class Semaphore:
    """getPermitExpirableSemaphore against /v1/semaphores."""

    LIMIT = 3

    def setUp(self):
        super().setUp()
        reply = self.take(self.name())
        if reply.code in NOT_YET:
            self.skipTest(f"the service has no semaphores yet: {reply.status} {reply.code}")

    @staticmethod
    def path(name, safe=""):
        return "/v1/semaphores/" + urllib.parse.quote(name, safe=safe or "")

    def take(self, name, permits=1, **body):
        return self.http.put(self.path(name), {"permits": permits, "limit": self.LIMIT, **body})

    def taken(self, name, permits=1, **body):
        reply = self.take(name, permits, **body)
        self.assertEqual(reply.status, 201, reply)
        return reply.json

    def parked_for(self, name, permits=1):
        before = self.waiters(name)
        one = Parked(self.service.port, self.path(name), {"waitMs": 20000, "permits": permits, "limit": self.LIMIT})
        self.addCleanup(one.close)
        eventually(lambda: self.waiters(name) > before, 5, "queued")
        return one

    def acquire(self, name, permits=1, wait_ms=0, lease_ms=20000):
        """Ids, or "" when there are not enough."""
        return self.ask("acquire", name, permits, wait_ms, lease_ms)

    def give_back(self, name, ids):
        return self.ask("release", name, ids)

    def available(self, name):
        return int(self.ask("available", name))

    def test_permits__when_taken_by_either__then_counted_for_both(self):
        name = self.name()
        grant = self.taken(name, 2)
        self.assertEqual(self.available(name), 1)
        self.assertEqual(self.acquire(name, 2), "")
        one = self.acquire(name)
        self.assertNotEqual(one, "")
        self.assertEqual(self.acquire(name), "")
        self.assert_refused(self.take(name))
        self.give_back(name, one)
        again = self.taken(name)
        self.let_go(again)
        self.let_go(grant)
        self.assertEqual(self.available(name), self.LIMIT)

    def test_limit__when_the_peer_made_it__then_it_stands(self):
        name = self.name()
        self.assertTrue(self.ask("setPermits", name, self.LIMIT))
        self.assert_problem(self.take(name, limit=self.LIMIT + 2), 409, "LCK-005")
        grant = self.taken(name, self.LIMIT)
        self.assertEqual(self.acquire(name), "")
        self.let_go(grant)
        self.assertFalse(self.ask("setPermits", name, 9), "ours did not take it away")
        self.assertEqual(self.available(name), self.LIMIT)

    def test_wake__when_the_peer_releases__then_our_waiter_has_them_promptly(self):
        name, waits = self.name(), []
        self.let_go(self.taken(name))
        for _ in range(ROUNDS):
            ids = self.acquire(name, self.LIMIT)
            one = self.parked_for(name, 2)
            told = self.peer.tell(self.actor(), "release", name, ids)
            at = granted_at(one)
            told.wait()
            waits.append(at - told.begin)
            self.let_go(one.reply().json)
        self.assert_prompt("permits released, ours waits", waits)

    def test_wake__when_ours_releases__then_the_peers_waiter_has_them_promptly(self):
        name, waits = self.name(), []
        for _ in range(ROUNDS):
            grant = self.taken(name, self.LIMIT)
            with self.one_more_listener(name):
                told = self.peer.tell(self.actor(), "acquire", name, 1, 20000, 20000)
            begin = now_ns()
            self.let_go(grant)
            ids = told.wait()
            waits.append(told.end - begin)
            self.give_back(name, ids)
        self.assert_prompt("ours released, permits wanted", waits)

    def test_expiry__when_the_peers_lease_ends__then_ours_goes_on(self):
        name = self.name()
        self.let_go(self.taken(name))
        self.acquire(name, self.LIMIT, 0, 500)
        begin = now_ns()
        one = self.parked_for(name)
        waited_ms = (granted_at(one) - begin) / 1e6
        self.assertTrue(350 < waited_ms < 500 + 300 * SLOW, waited_ms)
        self.let_go(one.reply().json)

    def test_expiry__when_our_lease_ends__then_the_peer_goes_on(self):
        name = self.name()
        grant = self.taken(name, self.LIMIT, ttlMs=500)
        told = self.peer.tell(self.actor(), "acquire", name, 1, 20000, 20000)
        self.assertNotEqual(told.wait(5), "")
        self.assertLess((told.end - told.begin) / 1e6, 500 + 300 * SLOW)
        self.assert_problem(self.delete(name, grant["token"]), 410, "LCK-002")
        self.give_back(name, told.wait())
        self.assertEqual(self.available(name), self.LIMIT)

    def test_renewal__when_ours__then_the_peer_stays_out(self):
        name = self.name()
        grant = self.taken(name, self.LIMIT, ttlMs=600)
        told = self.peer.tell(self.actor(), "acquire", name, 1, 20000, 20000)
        for _ in range(4):
            time.sleep(0.3)
            self.assertEqual(self.patch(name, grant["token"], ttlMs=600).status, 200)
        self.assertFalse(told.done())
        self.let_go(grant)
        self.give_back(name, told.wait(5))

    def test_both__when_they_want_permits_at_once__then_never_more_inside_than_the_limit(self):
        name, spans, turns = self.name(), [], 20
        self.let_go(self.taken(name))
        told = [self.peer.tell(self.actor(f"c{i}"), "enter", name, 1, turns) for i in range(4)]
        threads = [threading.Thread(target=self.enter, args=(name, turns, spans)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60 * SLOW)
        for one in told:
            spans += [tuple(map(int, span.split("-"))) for span in one.wait(60).split(",")]
        self.assertEqual(len(spans), 8 * turns)
        inside, most = 0, 0
        for _, step in sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans]):
            inside += step
            most = max(most, inside)
        self.assertLessEqual(most, self.LIMIT)
        self.assertEqual(self.available(name), self.LIMIT, "none was lost, none made")

    def enter(self, name, turns, spans):
        http = Http(self.service.port, timeout_s=60)
        for _ in range(turns):
            reply = http.put(self.path(name), {"permits": 1, "limit": self.LIMIT, "waitMs": 30000})
            begin = now_ns()
            time.sleep(0.001)
            spans.append((begin, now_ns()))
            self.delete(name, reply.json["token"], http=http)
        http.close()


for_each_redisson(globals(), Fair, Write, ReadWrite, Fenced, Semaphore)
del Fair, Write, ReadWrite, Fenced, Semaphore, Exclusive

if __name__ == "__main__":
    main()
