"""Waiting for a lock: order, hand-over, wake-up from outside, slices and tickets, dead clients, delivery, caps, drain."""

import concurrent.futures
import os
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.locks import LockCase, Parked, token
from support.resp import JavaLock
from support.wait import eventually, holds_for


class Waiting(LockCase):
    ENV = {"LOCKSTOCK_WAITERS_MAX": "40"}

    def waiters(self, name):
        return self.http.get(self.path(name)).json["waiters"]

    def parked(self, name, number=0, **body):
        """A waiting PUT; back when the service counts it."""
        before = self.waiters(name) if number == 0 else None
        one = Parked(self.services[number].port, self.path(name), dict({"waitMs": 20000}, **body))
        self.addCleanup(one.close)
        if before is not None:
            eventually(lambda: self.waiters(name) > before, 5, "queued")
        return one

    def test_wait__when_released__then_granted_in_order_each_with_a_higher_fence(self):
        name = self.name()
        grant = self.held(name)
        line = [self.parked(name, owner=f"w{i}") for i in range(5)]
        fences = [grant["fence"]]
        self.let_go(grant)
        for i, one in enumerate(line):
            reply = one.reply()
            self.assertEqual((reply.status, reply.json["owner"]), (201, f"w{i}"))
            self.assertTrue(all(not other.answered() for other in line[i + 1:]))
            self.assertGreater(reply.json["waitedMs"], 0)
            self.assertTrue(29000 < reply.json["safeForMs"] < 30000, "queueing consumes no lease")
            fences.append(reply.json["fence"])
            self.let_go(reply.json)
        self.assertEqual(fences, sorted(set(fences)))
        self.assertEqual(self.metric("lockstock_lock_handovers_total") >= 5, True)

    def test_wait__when_over__then_423_with_the_holder_of_now(self):
        name = self.name()
        grant = self.held(name, owner="holder")
        begun = time.monotonic()
        reply = self.put(name, waitMs=300)
        self.assertTrue(0.28 < time.monotonic() - begun < 1.5)
        holder = self.assert_problem(reply, 423, "LCK-001")["holder"]
        self.assertEqual((holder["owner"], holder["fence"]), ("holder", grant["fence"]))
        self.assertGreaterEqual(holder["heldForMs"], 280)

    def test_wait__when_the_lease_ends__then_granted_soon_after(self):
        name = self.name()
        self.held(name, ttlMs=400)
        begun = time.monotonic()
        reply = self.put(name, waitMs=5000)
        self.assertEqual(reply.status, 201)
        self.assertLess(time.monotonic() - begun, 0.6)

    def test_try__when_others_wait__then_423_and_never_ahead_of_them(self):
        name, mine = self.name(), token()
        grant = self.held(name, token=mine)
        first = self.parked(name)
        reply = self.put(name)
        self.assert_problem(reply, 423, "LCK-001", waiters=1)
        self.assertEqual(self.put(name, token=mine).status, 200, "who holds is told so, line or not")
        self.assertEqual(self.put(name, token=mine, waitMs=5000).status, 200)
        self.let_go(grant)
        self.assertEqual(first.reply().status, 201)

    def test_java__when_it_holds_and_releases__then_our_waiter_is_woken(self):
        name = self.name()
        java = JavaLock(self.redis, name)
        self.addCleanup(java.close)
        self.assertTrue(java.try_once())
        one = self.parked(name)
        time.sleep(0.05)
        begun = time.monotonic()
        java.release()
        self.assertEqual(one.reply().status, 201)
        self.assertLess(time.monotonic() - begun, 0.05 + 0.1)

    def test_java__when_its_key_is_deleted_without_a_message__then_polling_finds_it(self):
        name = self.name()
        java = JavaLock(self.redis, name)
        self.addCleanup(java.close)
        self.assertTrue(java.try_once())
        one = self.parked(name)
        self.redis.call("DEL", name)
        begun = time.monotonic()
        self.assertEqual(one.reply().status, 201)
        self.assertLess(time.monotonic() - begun, 1.5)

    def test_java__when_it_waits_too__then_it_has_its_turn(self):
        name = self.name()
        grant = self.held(name)
        line = [self.parked(name) for _ in range(12)]
        java, order = JavaLock(self.redis, name, reaction_s=0.001), []
        self.addCleanup(java.close)

        def wait():
            self.assertTrue(java.take(20))
            order.append("java")
            java.release()
        thread = threading.Thread(target=wait)
        thread.start()
        eventually(lambda: self.redis.call("PUBSUB", "NUMSUB", "redisson_lock__channel:{" + name + "}")[1] == 2, 5, "both")
        self.let_go(grant)
        for one in line:
            reply = one.reply()
            self.assertEqual(reply.status, 201)
            order.append("ours")
            self.let_go(reply.json)
        thread.join(20)
        self.assertLessEqual(order.index("java"), 10, order)

    def test_waiter__when_its_socket_closes__then_dropped_within_a_second_and_never_granted(self):
        name = self.name()
        grant = self.held(name)
        dead, alive = self.parked(name, owner="dead", token=token()), self.parked(name, owner="alive")
        dead.close()
        begun = time.monotonic()
        eventually(lambda: self.waiters(name) == 1, 1, "dropped")
        self.assertLess(time.monotonic() - begun, 1)
        self.let_go(grant)
        reply = alive.reply()
        self.assertEqual((reply.status, reply.json["fence"]), (201, grant["fence"] + 1), "no grant in between")

    def test_waiter__when_it_closes_just_before_the_release__then_passed_over(self):
        for _ in range(20):
            name = self.name()
            grant = self.held(name)
            dead, alive = self.parked(name, owner="dead", token=token()), self.parked(name, owner="alive")
            dead.close()
            self.let_go(grant)
            self.assertEqual(alive.reply(3).json["owner"], "alive")
            self.let_go(alive.reply().json)

    def test_waiters__when_the_cap_is_reached__then_429(self):
        name = self.name()
        grant = self.held(name)
        line = [Parked(self.service.port, self.path(name), {"waitMs": 20000}) for _ in range(40)]
        for one in line:
            self.addCleanup(one.close)
        eventually(lambda: self.waiters(name) == 40, 5, "full")
        reply = self.put(name, waitMs=1000)
        self.assert_problem(reply, 429, "LCK-004")
        self.assertIn("retry-after", reply.headers)
        other = self.name()
        self.held(other)
        self.assert_problem(self.put(other, waitMs=1000), 429, "LCK-004")
        self.assertEqual(self.put(self.name(), waitMs=1000).status, 201, "no wait is needed")
        self.assertEqual(self.metric("lockstock_lock_waiting"), 40)
        for one in line:
            one.close()
        eventually(lambda: self.metric("lockstock_lock_waiting") == 0, 5, "empty")
        self.let_go(grant)

    def test_token__when_it_asks_twice__then_one_place_and_one_grant(self):
        name, mine = self.name(), token()
        grant = self.held(name)
        first = self.parked(name, token=mine)
        second = Parked(self.service.port, self.path(name), {"waitMs": 20000, "token": mine})
        self.addCleanup(second.close)
        last = self.parked(name)
        self.let_go(grant)
        replies = [first.reply(), second.reply()]
        self.assertEqual([r.status for r in replies], [201, 200])
        self.assertEqual(len({r.json["fence"] for r in replies}), 1)
        self.assertFalse(last.answered())

    def test_kind__when_another_type_comes_to_stand_there__then_waiters_are_told(self):
        name = self.name()
        grant = self.held(name)
        one = self.parked(name)
        self.redis.call("SET", name, "x")
        self.assert_problem(one.reply(), 409, "LCK-005", kind="string")
        self.assertTrue(grant)

    def test_redis__when_it_goes_away__then_each_waiter_gets_what_it_asked_for(self):
        name = self.name()
        self.held(name)
        closed, open_ = self.parked(name), self.parked(name, onRedisDown="open")
        try:
            self.redis.stop()
            self.assert_problem(closed.reply(), 503, "LCK-003")
            self.assertEqual((open_.reply().status, open_.reply().json["safety"]), (201, "none"))
        finally:
            self.redis.start()
            self.until_ready()


class Delivery(LockCase):
    # Redis may be frozen for a moment without being given up.
    ENV = {"LOCKSTOCK_REDIS_TIMEOUT_MS": "5000"}

    def tearDown(self):
        self.redis.thaw()

    def drawn(self):
        return int(self.redis.call("HGET", "lockstock:fence", "n"))

    def is_stopped(self):
        with open(f"/proc/{self.redis.process.pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] == "T"

    def undelivered(self, name, noticed=False, **body):
        """A grant whose client is gone: it resets its connection while the acquire lies in a frozen Redis. noticed: the
        service has seen the hang-up before the grant; else the reply's write fails."""
        self.held(self.name())
        before = self.drawn()
        gone = self.metric("lockstock_lock_abandoned_total")
        answered = self.metric("lockstock_lock_grants_total", kind="new")
        self.redis.freeze()
        eventually(self.is_stopped, 5, "the signal has arrived")
        one = Parked(self.service.port, self.path(name), body)
        for _ in range(3):
            self.service.get("/healthz")
        one.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.close()
        if noticed:
            eventually(lambda: self.metric("lockstock_lock_abandoned_total") > gone, 5, "noticed")
        self.redis.thaw()
        eventually(lambda: self.drawn() == before + 1, 5, "granted all the same")
        if not noticed:
            eventually(lambda: self.metric("lockstock_lock_grants_total", kind="new") > answered, 5, "answered")

    def test_reply__when_written__then_the_grant_stays_although_nobody_reads(self):
        name = self.name()
        one = Parked(self.service.port, self.path(name), {})
        eventually(one.answered, 5, "granted")
        one.close()
        holds_for(lambda: self.redis.call("EXISTS", name), 1.5, "held: freed by the TTL alone")

    def test_grant__when_the_client_is_gone_and_the_token_is_the_services__then_free_at_once(self):
        for noticed in (False, True):
            with self.subTest(noticed=noticed):
                name, before = self.name(), self.metric("lockstock_lock_undelivered_total")
                self.undelivered(name, noticed)
                eventually(lambda: not self.redis.call("EXISTS", name), 0.5, "given back at once")
                self.assertEqual(self.metric("lockstock_lock_undelivered_total"), before + 1)

    def test_grant__when_the_client_is_gone_and_the_token_its_own__then_free_after_a_second(self):
        for noticed in (False, True):
            with self.subTest(noticed=noticed):
                name = self.name()
                self.undelivered(name, noticed, token=token())
                begun = time.monotonic()
                eventually(lambda: not self.redis.call("EXISTS", name), 3, "given back")
                self.assertGreater(time.monotonic() - begun, 0.7)

    def test_grant__when_a_repeat_confirms_it_meanwhile__then_it_stays(self):
        name, mine = self.name(), token()
        self.undelivered(name, token=mine)
        self.assertEqual(self.put(name, token=mine).status, 200)
        eventually(lambda: self.metric("lockstock_lock_undelivered_total") > 0, 3, "tried to give it back")
        holds_for(lambda: self.redis.call("EXISTS", name), 0.5, "confirmed")

    def test_grant__when_confirmed_by_a_renewal__then_it_stays(self):
        name, mine = self.name(), token()
        self.undelivered(name, token=mine)
        self.assertEqual(self.patch(name, mine).status, 200)
        holds_for(lambda: self.redis.call("EXISTS", name), 2, "confirmed")

    def test_grant__when_given_back__then_the_next_waiter_has_it(self):
        name = self.name()
        self.undelivered(name, token=token())
        reply = self.put(name, waitMs=5000)
        self.assertEqual(reply.status, 201)
        self.assertLess(reply.json["waitedMs"], 1600)

    def test_repeat__when_the_first_is_being_given_up_on_another_instance__then_never_freed_under_the_client(self):
        other = self.instance("b").start()
        self.until_redis()
        client = other.http()
        self.addCleanup(client.close)
        name, mine = self.name(), token()
        self.undelivered(name, token=mine)
        reply = self.put(name, client, token=mine)
        self.assertEqual(reply.status, 200, reply)
        holds_for(lambda: self.redis.call("EXISTS", name), 1.5, "confirmed")
        other.stop()


class Tickets(LockCase):

    def test_slice__when_over__then_202_and_the_ticket_keeps_its_place(self):
        name, mine = self.name(), token()
        grant = self.held(name, ttlMs=120000)
        first = Parked(self.service.port, self.path(name), {"waitMs": 60000, "token": mine})
        self.addCleanup(first.close)
        eventually(lambda: self.http.get(self.path(name)).json["waiters"] == 1, 5, "queued")
        second = Parked(self.service.port, self.path(name), {"waitMs": 60000})
        self.addCleanup(second.close)
        begun = time.monotonic()
        reply = first.reply(25)
        self.assertTrue(18.5 < time.monotonic() - begun < 21)
        self.assertEqual((reply.status, reply.headers["lock-token"]), (202, mine))
        self.assertEqual(reply.json, {"status": "queued", "token": mine, "position": 1, "retryWithinMs": 10000})
        self.assertEqual(second.reply(5).status, 202)
        again = Parked(self.service.port, self.path(name), {"waitMs": 40000, "token": mine})
        self.addCleanup(again.close)
        later = Parked(self.service.port, self.path(name), {"waitMs": 60000, "token": second.reply().json["token"]})
        self.addCleanup(later.close)
        eventually(lambda: self.http.get(self.path(name)).json["waiters"] == 2, 5, "both back")
        self.let_go(grant)
        self.assertEqual(again.reply(5).status, 201)
        self.assertFalse(later.answered())

    def test_ticket__when_nobody_comes_back__then_the_lock_goes_on_and_the_ticket_ends(self):
        name = self.name()
        grant = self.held(name, ttlMs=120000)
        first = Parked(self.service.port, self.path(name), {"waitMs": 60000, "token": token()})
        self.addCleanup(first.close)
        self.assertEqual(first.reply(25).status, 202)
        next_ = Parked(self.service.port, self.path(name), {"waitMs": 20000})
        self.addCleanup(next_.close)
        eventually(lambda: self.http.get(self.path(name)).json["waiters"] == 2, 5, "behind the ticket")
        self.let_go(grant)
        self.assertEqual(next_.reply(5).status, 201, "a ticket without its client is passed over")
        eventually(lambda: self.http.get(self.path(name)).json["waiters"] == 0, 12, "the ticket has ended")


class TwoInstances(LockCase):
    INSTANCES = 2

    def test_wait__when_the_holder_releases_elsewhere__then_woken(self):
        name = self.name()
        grant = self.held(name)
        one = Parked(self.services[1].port, self.path(name), {"waitMs": 20000})
        self.addCleanup(one.close)
        eventually(lambda: self.client(1).get(self.path(name)).json["waiters"] == 1, 5, "queued")
        time.sleep(0.02)
        begun = time.monotonic()
        self.let_go(grant)
        self.assertEqual(one.reply().status, 201)
        self.assertLess(time.monotonic() - begun, 0.15)

    def test_wait__when_both_have_a_line__then_neither_starves(self):
        name, each = self.name(), 40
        grant = self.held(name)
        line = [Parked(self.services[i % 2].port, self.path(name), {"waitMs": 60000, "owner": str(i % 2)})
                for i in range(2 * each)]
        for one in line:
            self.addCleanup(one.close)
        for number in (0, 1):
            eventually(lambda n=number: self.client(n).get(self.path(name)).json["waiters"] == each, 5, "queued")
        self.let_go(grant)
        order, waiting = [], list(line)
        while waiting:
            ready = eventually(lambda: [one for one in waiting if one.answered()], 5, "somebody holds")
            self.assertEqual(len(ready), 1, "two hold at once")
            waiting.remove(ready[0])
            grant = ready[0].reply().json
            order.append(int(grant["owner"]))
            self.let_go(grant, self.client(int(grant["owner"])))
        half = order[:each]
        self.assertTrue(each // 4 <= sum(half) <= 3 * each // 4, order)

    def test_counter__when_many_critical_sections__then_no_overlap_and_fences_grow(self):
        name, seen = self.name(), []

        def work(number):
            for _ in range(25):
                reply = self.service_put(name, number % 2, waitMs=60000)
                self.assertEqual(reply.status, 201, reply)
                grant = reply.json
                seen.append(("in", grant["fence"]))
                seen.append(("out", grant["fence"]))
                done = self.on_own_connection("DELETE", self.path(name), None, number % 2,
                                              headers={"Lock-Token": grant["token"]})
                self.assertEqual(done.status, 204)
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            list(pool.map(work, range(12)))
        fences = [f for what, f in seen if what == "in"]
        self.assertEqual(fences, sorted(set(fences)))
        self.assertEqual([f for pair in zip(seen[::2], seen[1::2]) for _, f in pair], [f for f in fences for _ in "ab"])


class Drain(LockCase):
    INSTANCES = 0

    def test_sigterm__when_some_wait__then_503_retry_after_0_and_leases_stay(self):
        one = self.instance("d").start()
        self.until_redis()
        self.http = one.http()
        name = self.name()
        grant = self.held(name)
        parked = Parked(one.port, self.path(name), {"waitMs": 20000})
        eventually(lambda: self.http.get(self.path(name)).json["waiters"] == 1, 5, "queued")
        one.terminate()
        reply = parked.reply(5)
        self.assert_problem(reply, 503, "SYS-011")
        self.assertEqual(reply.headers["retry-after"], "0")
        self.assertEqual(one.exit_status(10), 0)
        self.assertEqual(self.redis.call("EXISTS", name), 1)
        self.assertTrue(grant)
        parked.close()
        self.http.close()


if __name__ == "__main__":
    main()
