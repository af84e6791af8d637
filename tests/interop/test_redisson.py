"""RLock of Redisson and PUT /v1/locks on one key; and its relatives that stand on the same key."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from interop import NO_LEASE, POLL_MS_MAX, for_each_redisson, granted_at  # pylint: disable=wrong-import-position
from exclusive import Exclusive  # pylint: disable=wrong-import-position
from support.case import main  # pylint: disable=wrong-import-position
from support.wait import SLOW, holds_for  # pylint: disable=wrong-import-position


class RLock(Exclusive):
    """getLock against kind lock."""

    def test_reentry__when_locked_twice__then_free_after_the_second_unlock(self):
        name = self.name()
        theirs = self.remote(name)
        theirs.lock(20000)
        theirs.lock(20000)
        self.assertEqual(theirs.ask("holds"), "2")
        theirs.unlock()
        self.assert_refused(self.ours(name))
        one = self.parked(name)
        holds_for(lambda: not one.answered(), 0.3, "half unlocked is locked")
        theirs.unlock()
        self.assertEqual(one.reply(5).status, 201)
        self.let_go(one.reply().json)

    def test_reentry__when_under_the_watchdog__then_ours_stays_out(self):
        name = self.name()
        theirs = self.remote(name)
        theirs.lock(NO_LEASE)
        theirs.lock(NO_LEASE)
        theirs.unlock()
        one = self.parked(name)
        holds_for(lambda: not one.answered(), 2 * self.WATCHDOG_MS / 1000, "renewed after the first unlock")
        theirs.unlock()
        self.let_go(one.reply(5).json)

    def test_look__when_either_holds__then_both_agree(self):
        name = self.name()
        theirs, other = self.remote(name), self.remote(name, "t2")
        self.assertFalse(self.http.get(self.path(name)).json["held"])
        theirs.lock(20000)
        seen = self.http.get(self.path(name)).json
        self.assertEqual((seen["held"], len(seen["holders"]), seen["holders"][0]["owner"]), (True, 1, None))
        self.assertEqual((theirs.ask("isMine"), other.ask("isMine")), (True, False))
        theirs.unlock()
        grant = self.hold(name, ttlMs=20000)
        self.assertEqual((theirs.ask("isMine"), theirs.ask("holds")), (False, "0"))
        self.assertTrue(15000 < int(theirs.ask("ttl")) <= 20000)
        self.let_go(grant)
        self.assertFalse(theirs.ask("isLocked"))

    def test_names__when_they_are_hard__then_both_mean_one_key(self):
        for number, ending in enumerate(("a b", "käse/ß", "x:y:1", "%41", "a+b&c=d", "日本")):
            with self.subTest(name=ending):
                name = f"{self.name()}/{ending}"
                theirs = self.remote(name, f"n{number}")
                theirs.lock(20000)
                self.assert_refused(self.ours(name))
                theirs.unlock()
                grant = self.hold(name)
                self.assertFalse(theirs.try_lock())
                told = self.waiting(theirs, 20000)
                self.let_go(grant)
                told.wait(2)
                theirs.unlock()

    def test_peer__when_its_process_is_killed__then_ours_goes_on_when_the_watchdog_is_over(self):
        name = self.name()
        self.remote(name).lock(NO_LEASE)
        one = self.parked(name)
        holds_for(lambda: not one.answered(), 1.5 * self.WATCHDOG_MS / 1000, "alive")
        self.peer.kill()
        self.assertEqual(one.reply(2 * self.WATCHDOG_MS / 1000 * SLOW).status, 201)
        self.let_go(one.reply().json)
        type(self).peer = self.peer.shared(self.stack, self.PEER, self.WATCHDOG_MS)


class Relatives:
    """Locks on RLock's key that are taken, held or let go in another way."""

    def test_spin__when_it_unlocks_without_a_message__then_polling_finds_it(self):
        name = self.name()
        theirs = self.remote(name, kind="spin")
        theirs.lock(20000)
        self.assert_refused(self.ours(name))
        one = self.parked(name)
        told = theirs.tell("unlock")
        at = granted_at(one)
        told.wait()
        self.assertLess((at - told.begin) / 1e6, POLL_MS_MAX * SLOW)
        self.assertFalse(theirs.try_lock())
        self.let_go(one.reply().json)

    def test_multi__when_one_member_is_ours__then_it_gets_none(self):
        names = [self.name() for _ in range(3)]
        theirs = self.remote(",".join(names), kind="multi")
        grant = self.hold(names[1])
        self.assertFalse(theirs.try_lock(200, 20000))
        for name in (names[0], names[2]):
            self.let_go(self.hold(name))
        self.let_go(grant)
        self.assertTrue(theirs.try_lock(2000, 20000))
        for name in names:
            self.assert_refused(self.ours(name))
        line = [self.parked(name) for name in names]
        theirs.unlock()
        for one in line:
            self.assertEqual(one.reply(5).status, 201)
            self.let_go(one.reply().json)

    def test_multi__when_it_waits_for_a_member_of_ours__then_it_gets_all(self):
        names = [self.name() for _ in range(3)]
        grant = self.hold(names[1], ttlMs=20000)
        told = self.remote(",".join(names), kind="multi").tell("tryLock", 10000, 20000)
        holds_for(lambda: not told.done(), 0.3, "one is missing")
        self.let_go(grant)
        self.assertTrue(told.wait(10))
        self.remote(",".join(names), kind="multi").unlock()

    def test_set__when_the_peer_holds_a_member__then_ours_gets_none(self):
        names = [self.name() for _ in range(3)]
        reply = self.http.put("/v1/locks", {"names": names})
        if reply.code in ("SYS-005", "SYS-007", "SYS-003"):
            self.skipTest(f"the service has no sets of names yet: {reply.status} {reply.code}")
        self.assertEqual(reply.status, 201, reply)
        theirs = self.remote(",".join(names), kind="multi")
        self.assertFalse(theirs.try_lock(200, 20000))
        for name in names:
            self.assertFalse(self.remote(name).try_lock())
            self.let_go({"name": name, "token": reply.json["token"]})
        single = self.remote(names[2])
        single.lock(20000)
        self.assert_refused(self.http.put("/v1/locks", {"names": names}))
        self.assertTrue(self.remote(names[0], "t2").try_lock(0, 1000), "nothing was kept")
        self.remote(names[0], "t2").unlock()
        single.unlock()

    def test_kinds__when_a_read_write_lock_stands_there__then_ours_is_refused_as_another_kind(self):
        for kind in ("read", "write"):
            name = self.name()
            theirs = self.remote(name, kind=kind)
            theirs.lock(20000)
            self.assert_problem(self.put(name), 409, "LCK-005", kind="rw")
            theirs.unlock()
            self.let_go(self.held(name))

    def test_kinds__when_a_semaphore_stands_there__then_ours_is_refused_as_another_kind(self):
        name = self.name()
        self.assertTrue(self.ask("setPermits", name, 2))
        reply = self.put(name)
        self.assertEqual((reply.status, reply.code), (409, "LCK-005"), reply)
        self.assertEqual(self.ask("available", name), "2")


for_each_redisson(globals(), RLock, Relatives)
del RLock, Relatives, Exclusive

if __name__ == "__main__":
    main()
