"""What holds for every kind of lock that only one may have: two sides, one key."""

import threading
import time

from interop import NO_LEASE, PeerError, ROUNDS, granted_at, now_ns
from support.client import Http
from support.wait import SLOW, eventually, holds_for


class Exclusive:
    """KIND of the peer against OURS."""

    TURNS = 25  # of each side in the contended test
    CROWD = 60
    # Hand-overs in a row are 8; then the peer has 2 ms to take its turn, and twice as long each time it was too slow.
    TURN_AFTER_MAX = 45

    # -- exclusion

    def test_peer__when_it_holds__then_ours_is_refused_until_it_unlocks(self):
        name = self.name()
        theirs = self.remote(name)
        theirs.lock(20000)
        holder = self.assert_refused(self.ours(name))["holder"]
        self.assertIsNone(holder["fence"], "a foreign holder has none")
        self.assertTrue(0 < holder["expiresInMs"] <= 20000, holder)
        theirs.unlock()
        self.let_go(self.hold(name))
        self.assert_untouched(name)

    def test_ours__when_held__then_the_peer_is_refused_until_we_release(self):
        name = self.name()
        grant, theirs = self.hold(name, ttlMs=20000), self.remote(name)
        self.assertTrue(theirs.ask("isLocked"))
        self.assertFalse(theirs.try_lock(0, 5000))
        told = theirs.tell("tryLock", 300, 5000)
        self.assertFalse(told.wait())
        self.assertGreaterEqual(told.end - told.begin, 0.28e9, "it waited")
        self.assertGreater(self.redis.call("PTTL", name), 15000, "trying changes nothing of our lease")
        self.let_go(grant)
        self.assertTrue(theirs.try_lock(0, 5000))
        theirs.unlock()
        self.assert_untouched(name)

    def test_ours__when_renewed__then_the_peer_stays_out(self):
        name = self.name()
        grant, theirs = self.hold(name, ttlMs=700), self.remote(name)
        told = self.waiting(theirs, 5000)
        for _ in range(4):
            time.sleep(0.35)
            self.assertEqual(self.patch(name, grant["token"], ttlMs=700).status, 200)
            self.assertFalse(told.done())
        self.let_go(grant)
        told.wait(5)
        theirs.unlock()

    def test_watchdog__when_the_peer_gave_no_lease__then_ours_stays_out_beyond_its_timeout(self):
        name = self.name()
        theirs = self.remote(name)
        theirs.lock(NO_LEASE)
        one = self.parked(name)
        holds_for(lambda: not one.answered() and self.redis.call("PTTL", name) > 0, 2.5 * self.WATCHDOG_MS / 1000,
                  "renewed by the watchdog")
        self.assert_refused(self.ours(name))
        told = theirs.tell("unlock")
        at = granted_at(one)
        told.wait()
        self.assertLess((at - told.begin) / 1e6, 500 * SLOW)
        self.let_go(one.reply().json)

    def test_both__when_they_want_it_at_once__then_never_two_inside(self):
        name, counter = self.name(), self.name() + "/count"
        told = [self.remote(name, f"c{i}").tell("critical", counter, self.TURNS) for i in range(3)]
        spans, fences = [], []
        threads = [threading.Thread(target=self.critical, args=(name, counter, spans, fences)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60 * SLOW)
        for one in told:
            spans += [tuple(map(int, span.split("-"))) for span in one.wait(60).split(",")]
        self.assertEqual(len(spans), 6 * self.TURNS)
        self.assertEqual(int(self.redis.call("GET", counter)), 6 * self.TURNS, "lost updates")
        self.assert_disjoint(spans)
        by_time = [fence for _, fence in sorted(fences)]
        self.assertEqual(by_time, sorted(set(by_time)), "our fences grow, whoever held it in between")
        self.redis.call("DEL", counter)
        self.assert_untouched(name)

    def critical(self, name, counter, spans, fences):
        """The peer's command of that name, through our API."""
        http, redis = Http(self.service.port, timeout_s=60), self.redis.client()
        for _ in range(self.TURNS):
            reply = http.put(self.path(name), {"ttlMs": 10000, "waitMs": 30000, **self.OURS})
            begin = now_ns()
            value = int(redis.call("GET", counter) or 0)
            redis.call("SET", counter, value + 1)
            spans.append((begin, now_ns()))
            fences.append((begin, reply.json["fence"]))
            self.delete(name, reply.json["token"], http=http)
        http.close()
        redis.close()

    # -- waking

    def test_wake__when_the_peer_unlocks__then_our_waiter_has_it_promptly(self):
        name, waits = self.name(), []
        theirs = self.remote(name)
        for _ in range(ROUNDS):
            theirs.lock(20000)
            one = self.parked(name)
            told = theirs.tell("unlock")
            at = granted_at(one)
            told.wait()
            waits.append(at - told.begin)
            self.assertEqual(one.reply().status, 201)
            self.let_go(one.reply().json)
        self.assert_prompt(f"{self.KIND} unlocks, our waiter", waits)

    def test_wake__when_we_release__then_the_peers_waiter_has_it_promptly(self):
        name, waits = self.name(), []
        theirs = self.remote(name)
        for _ in range(ROUNDS):
            grant = self.hold(name, ttlMs=20000)
            told = self.waiting(theirs, 20000)
            begin = now_ns()
            self.let_go(grant)
            told.wait()
            waits.append(told.end - begin)
            theirs.unlock()
        self.assert_prompt(f"ours released, {self.KIND} waits", waits)

    def test_wake__when_many_of_ours_wait_too__then_the_peer_has_its_turn(self):
        name = self.name()
        grant = self.hold(name)
        line = [self.parked(name) for _ in range(self.CROWD)]
        theirs = self.remote(name)
        locked, unlocked = self.waiting(theirs, 20000, beside_ours=True), theirs.tell("unlock")
        self.let_go(grant)
        order = []
        for one in line:
            order.append(granted_at(one))
            self.assertEqual(one.reply().status, 201)
            self.let_go(one.reply().json)
        unlocked.wait(5)
        self.assertLessEqual(sum(at < locked.end for at in order), self.TURN_AFTER_MAX, "of ours came first")

    # -- leases

    def test_expiry__when_the_peers_lease_ends__then_ours_goes_on_and_its_unlock_throws(self):
        name = self.name()
        theirs = self.remote(name)
        told = theirs.tell("lock", 500)
        told.wait()
        one = self.parked(name)
        waited_ms = (granted_at(one) - told.end) / 1e6
        self.assertTrue(400 < waited_ms < 500 + 300 * SLOW, waited_ms)
        self.assert_throws(theirs.unlock)
        self.assertEqual(self.patch(name, one.reply().json["token"]).status, 200, "still ours")
        self.let_go(one.reply().json)

    def test_expiry__when_our_lease_ends__then_the_peer_goes_on_and_our_release_is_lost(self):
        name = self.name()
        begin = now_ns()
        grant, theirs = self.hold(name, ttlMs=500), self.remote(name)
        told = theirs.tell("lock", 20000)
        told.wait()
        waited_ms = (told.end - begin) / 1e6
        self.assertTrue(490 < waited_ms < 500 + 300 * SLOW, waited_ms)
        self.assert_problem(self.delete(name, grant["token"]), 410, "LCK-002", reason="expired")
        self.assert_problem(self.patch(name, grant["token"]), 410, "LCK-002", reason="expired")
        self.assertFalse(self.remote(name, "t2").try_lock(0, 1000), "still the peer's")
        theirs.unlock()

    # -- owners

    def test_owner__when_it_is_the_peer__then_nobody_else_can_release(self):
        name = self.name()
        theirs = self.remote(name)
        theirs.lock(20000)
        for secret in ("a" * 32, "b" * 64):
            self.assert_problem(self.delete(name, secret), 410, "LCK-002")
            self.assert_problem(self.patch(name, secret), 410, "LCK-002")
        self.assert_throws(self.remote(name, "t2").unlock)
        self.assert_refused(self.ours(name))
        theirs.unlock()

    def test_owner__when_it_is_ours__then_the_peer_cannot_release(self):
        name = self.name()
        grant = self.hold(name)
        self.assert_throws(self.remote(name).unlock)
        self.assertEqual(self.patch(name, grant["token"]).status, 200)
        self.assertFalse(self.remote(name).try_lock())
        self.let_go(grant)

    # -- by force

    def test_force__when_the_peer_takes_ours__then_we_are_told_and_nothing_comes_back(self):
        name = self.name()
        grant, theirs = self.hold(name), self.remote(name)
        self.assertTrue(theirs.ask("forceUnlock"))
        self.assert_problem(self.patch(name, grant["token"]), 410, "LCK-002")
        self.assertFalse(theirs.ask("isLocked"), "a renewal never makes it anew")
        theirs.lock(20000)
        ttl = self.redis.call("PTTL", name)
        self.assert_problem(self.patch(name, grant["token"], ttlMs=80000), 410, "LCK-002")
        self.assert_problem(self.delete(name, grant["token"]), 410, "LCK-002")
        self.assertLessEqual(self.redis.call("PTTL", name), ttl, "a renewal never lengthens another's lease")
        self.assert_refused(self.ours(name))
        theirs.unlock()

    def test_force__when_the_peer_takes_ours__then_our_waiter_is_woken(self):
        name = self.name()
        first = self.hold(name)
        one = self.parked(name)
        told = self.remote(name).tell("forceUnlock")
        at = granted_at(one)
        self.assertTrue(told.wait())
        self.assertLess((at - told.begin) / 1e6, 500 * SLOW)
        self.assertGreater(one.reply().json["fence"], first["fence"])
        self.let_go(one.reply().json)

    def test_force__when_we_take_the_peers__then_its_waiter_is_woken_and_the_holder_told(self):
        name = self.name()
        theirs, other = self.remote(name), self.remote(name, "t2")
        theirs.lock(NO_LEASE)
        told = self.waiting(other, 20000)
        begin = now_ns()
        self.force(name)
        told.wait(5)
        self.assertLess((told.end - begin) / 1e6, 500 * SLOW)
        self.assert_throws(theirs.unlock)
        other.unlock()
        eventually(lambda: not other.ask("isLocked"), 2, "its old watchdog keeps nothing alive")
        self.assert_untouched(name)


__all__ = ["Exclusive", "PeerError"]
