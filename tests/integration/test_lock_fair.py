"""Kind fair: one queue in Redis for all instances and for Java; who comes first is served first, the dead are skipped."""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main
from support.fair import JavaFair, deadlines_key, queue_key
from support.locks import LockCase, Parked, token
from support.resp import Subscriber, lock_channel
from support.wait import eventually, holds_for

FAIR = {"kind": "fair"}
LIFE_S = 6  # a waiter whose instance is silent for so long counts as dead


class FairCase(LockCase):
    def queue(self, name):
        return self.redis.call("LRANGE", queue_key(name), 0, -1)

    def put(self, name, http=None, **body):
        return super().put(name, http, **{**FAIR, **body})

    def parked(self, name, number=0, port=None, **body):
        """A waiting PUT; back when it stands in the queue in Redis."""
        before = len(self.queue(name))
        one = Parked(port or self.services[number].port, self.path(name), {"waitMs": 30000, **FAIR, **body})
        self.addCleanup(one.close)
        eventually(lambda: len(self.queue(name)) == before + 1, 5, "queued")
        return one

    def java(self, name):
        one = JavaFair(self.redis, name)
        self.addCleanup(one.close)
        return one

    def queued_java(self, name):
        one = self.java(name)
        self.assertFalse(one.try_once())
        return one

    def until_length(self, name, length, timeout_s=3):
        eventually(lambda: len(self.queue(name)) == length, timeout_s, f"{length} in the queue: {self.queue(name)}")

    def assert_nothing_left(self, name):
        for key in (name, queue_key(name), deadlines_key(name)):
            self.assertEqual(self.redis.call("EXISTS", key), 0, key)
        waiting = self.redis.call("HKEYS", "lockstock:waiting:" + name)
        self.assertEqual([field for field in waiting if field != "#"], [])


class Fair(FairCase):
    def test_grant__when_free__then_201_of_kind_fair_and_nobody_queued(self):
        name = self.name()
        grant = self.held(name, waitMs=5000, metadata={"a": 1})
        self.assertEqual((grant["kind"], grant["mode"], grant["safety"]), ("fair", "exclusive", "redis"))
        self.assertEqual(self.queue(name), [])
        shown = self.http.get(self.path(name)).json
        self.assertEqual((shown["kind"], shown["held"], shown["fence"]), ("fair", True, grant["fence"]))
        self.assertEqual(self.patch(name, grant["token"]).json["kind"], "fair")
        self.let_go(grant)
        self.assertEqual(self.delete(name, grant["token"]).status, 204, "a repeat")
        self.assert_nothing_left(name)

    def test_wait__when_released__then_handed_on_in_order_each_with_a_higher_fence(self):
        name = self.name()
        grant = self.held(name)
        line = [self.parked(name, owner=f"w{i}") for i in range(5)]
        before, fences = self.metric("lockstock_lock_handovers_total"), [grant["fence"]]
        self.let_go(grant)
        for i, one in enumerate(line):
            reply = one.reply()
            self.assertEqual((reply.status, reply.json["owner"]), (201, f"w{i}"))
            self.assertTrue(all(not other.answered() for other in line[i + 1:]))
            fences.append(reply.json["fence"])
            self.let_go(reply.json)
        self.assertEqual(fences, sorted(set(fences)))
        self.assertEqual(self.metric("lockstock_lock_handovers_total"), before + 5)
        self.assert_nothing_left(name)

    def test_wait__when_over__then_423_and_out_of_the_queue(self):
        name = self.name()
        grant = self.held(name, owner="holder")
        reply = self.put(name, waitMs=300)
        self.assertEqual(self.assert_problem(reply, 423, "LCK-001")["holder"]["owner"], "holder")
        self.until_length(name, 0)
        self.let_go(grant)
        self.assert_nothing_left(name)

    def test_wait__when_the_lease_ends__then_the_head_has_it_soon(self):
        name = self.name()
        self.held(name, ttlMs=400)
        begun = time.monotonic()
        self.assertEqual(self.put(name, waitMs=5000).status, 201)
        self.assertLess(time.monotonic() - begun, 0.7)

    def test_try__when_it_fails__then_it_does_not_stand_in_the_queue_and_nobody_is_overtaken(self):
        name = self.name()
        grant = self.held(name)
        self.assert_problem(self.put(name), 423, "LCK-001")
        self.assertEqual(self.queue(name), [])
        first = self.parked(name)
        self.assert_problem(self.put(name), 423, "LCK-001")
        self.let_go(grant)
        self.assertEqual(first.reply().status, 201)

    def test_token__when_it_asks_again__then_one_place_and_one_grant(self):
        name, mine = self.name(), token()
        grant = self.held(name)
        first = self.parked(name, token=mine)
        self.parked(name)
        second = Parked(self.service.port, self.path(name), {"waitMs": 20000, "token": mine, **FAIR})
        self.addCleanup(second.close)
        self.assert_problem(self.put(name, token=mine), 423, "LCK-001")
        self.assertEqual(len(self.queue(name)), 2, "a try takes nothing of the place")
        self.let_go(grant)
        replies = [first.reply(), second.reply()]
        self.assertEqual([r.status for r in replies], [201, 200])
        self.assertEqual(len({r.json["fence"] for r in replies}), 1)
        again = self.put(name, token=mine, waitMs=5000)
        self.assertEqual((again.status, again.json["fence"]), (200, replies[0].json["fence"]))
        self.until_length(name, 1)

    def test_client__when_it_vanishes__then_out_of_the_queue_at_once_and_never_granted(self):
        name = self.name()
        grant = self.held(name)
        gone, last = self.parked(name, token=token()), self.parked(name, owner="last")
        gone.close()
        self.until_length(name, 1, 1)
        self.let_go(grant)
        reply = last.reply(3)
        self.assertEqual((reply.json["owner"], reply.json["fence"]), ("last", grant["fence"] + 1))

    def test_client__when_it_vanishes_just_before_the_release__then_the_next_has_it(self):
        for _ in range(20):
            name = self.name()
            grant = self.held(name)
            gone, last = self.parked(name, token=token()), self.parked(name, owner="last")
            gone.close()
            self.let_go(grant)
            self.assertEqual(last.reply(3).json["owner"], "last")
            self.let_go(last.reply().json)

    def test_wait__when_longer_than_a_life__then_still_alive(self):
        name = self.name()
        grant = self.held(name)
        one = self.parked(name)
        holds_for(lambda: len(self.queue(name)) == 1 and not one.answered(), LIFE_S + 2, "it stays")
        self.let_go(grant)
        self.assertEqual(one.reply(3).status, 201)

    def test_kind__when_another_is_asked_for__then_lck_005_whoever_was_first(self):
        name = self.name()
        grant = self.held(name)
        waiting = self.parked(name)
        self.assert_problem(self.http.put(self.path(name), {"waitMs": 5000}), 409, "LCK-005", kind="fair")
        self.assert_problem(self.http.put("/v1/semaphores/" + name.replace("/", "%2F"), {"limit": 3}), 409, "LCK-005")
        self.let_go(grant)
        self.assertEqual(waiting.reply().status, 201)
        other = self.name()
        self.assertEqual(self.http.put(self.path(other), {}).status, 201)
        self.assert_problem(self.put(other, waitMs=5000), 409, "LCK-005", kind="lock")
        self.assertEqual(self.queue(other), [])

    def test_queue__when_something_else_stands_at_its_key__then_lck_005(self):
        name = self.name()
        self.redis.call("SET", queue_key(name), "x")
        self.assert_problem(self.put(name), 409, "LCK-005", kind="string")

    def test_set__when_fair__then_400(self):
        reply = self.http.put("/v1/locks", {"names": [self.name(), self.name()], **FAIR})
        self.assertEqual(self.assert_problem(reply, 400, "SYS-003")["errors"][0]["pointer"], "#/kind")

    def test_force__when_it_is_held__then_the_head_has_it_and_the_holder_is_told(self):
        name = self.name()
        grant = self.held(name)
        one = self.parked(name)
        reply = self.http.request("DELETE", self.path(name) + "?force=true&reason=test")
        self.assertEqual(reply.status, 204)
        self.assertEqual(one.reply(1).status, 201)
        self.assert_problem(self.patch(name, grant["token"]), 410, "LCK-002")

    def test_session__when_everything_is_released__then_the_head_has_it(self):
        name, mine = self.name(), token()
        self.held(name, token=mine)
        one = self.parked(name)
        reply = self.http.request("DELETE", "/v1/locks", headers={"Lock-Token": mine})
        self.assertEqual(reply.status // 100, 2, reply)
        self.assertEqual(one.reply(2).status, 201)

    def test_redis__when_it_was_away__then_waiters_are_told_and_no_place_is_left(self):
        name = self.name()
        self.held(name)
        one = self.parked(name)
        try:
            self.redis.freeze()
            self.assert_problem(one.reply(5), 503, "LCK-003")
        finally:
            self.redis.thaw()
        self.until_ready()
        self.until_length(name, 0, LIFE_S)


class BesideJava(FairCase):
    def test_order__when_java_stands_between_ours__then_all_in_the_order_they_came(self):
        name = self.name()
        grant = self.held(name)
        first = self.parked(name)
        java = self.queued_java(name)
        second = self.parked(name)
        last = self.queued_java(name)
        self.let_go(grant)
        self.assertEqual(first.reply(2).status, 201)
        self.assertFalse(java.try_once())
        self.let_go(first.reply().json)
        eventually(java.woken, 1, "its channel")
        self.assertFalse(second.answered())
        self.assertFalse(last.try_once())
        self.assertTrue(java.try_once())
        self.assertEqual(java.release(), 1, "our waiter hears it")
        self.assertEqual(second.reply(1).status, 201)
        self.let_go(second.reply().json)
        eventually(last.woken, 1, "its channel")
        self.assertTrue(last.try_once())
        last.release()
        self.assert_nothing_left(name)

    def test_drift__when_java_takes_its_wait_off_all_deadlines__then_ours_behind_it_stay(self):
        name = self.name()
        holder = self.java(name)
        self.assertTrue(holder.try_once())
        javas = [self.queued_java(name) for _ in range(3)]
        ours = self.parked(name)
        last = self.queued_java(name)
        time.sleep(2.5)  # a beat
        holder.release()
        for java in javas:
            self.assertTrue(java.try_once())
            java.release()
        self.assertEqual(ours.reply(1).status, 201)
        self.let_go(ours.reply().json)
        self.assertTrue(last.try_once())
        last.release()
        self.assert_nothing_left(name)

    def test_purge__when_java_removes_ours_though_they_live__then_they_stand_where_they_stood(self):
        name = self.name()
        holder = self.java(name)
        self.assertTrue(holder.try_once())
        ours = [self.parked(name, owner=f"w{i}") for i in range(2)]
        before = self.queue(name)
        java = self.queued_java(name)
        for owner in before:
            self.redis.call("ZADD", deadlines_key(name), 1, owner)
        self.assertFalse(java.try_once())
        self.assertEqual(self.queue(name), [java.owner], "both are gone")
        eventually(lambda: self.queue(name) == before + [java.owner], 3, "both are back")
        holder.release()
        for i, one in enumerate(ours):
            self.assertEqual(one.reply(2).json["owner"], f"w{i}")
            self.let_go(one.reply().json)
        self.assertTrue(java.try_once())
        java.release()

    def test_delete__when_java_deletes_lock_and_queue__then_ours_go_on(self):
        name = self.name()
        holder = self.java(name)
        self.assertTrue(holder.try_once())
        ours = [self.parked(name, owner=f"w{i}") for i in range(2)]
        eventually(lambda: len(self.queue(name)) == 2, 3, "both stand in the queue")
        self.redis.call("DEL", name, queue_key(name), deadlines_key(name))
        for i, one in enumerate(ours):
            self.assertEqual(one.reply(4).json["owner"], f"w{i}")
            self.let_go(one.reply().json)

    def test_head__when_it_has_no_deadline__then_it_is_removed(self):
        name = self.name()
        self.redis.call("RPUSH", queue_key(name), "dead:1")
        self.let_go(self.held(name))
        self.assert_nothing_left(name)

    def test_head__when_a_dead_javas_deadline_comes__then_ours_goes_on(self):
        name = self.name()
        self.redis.call("RPUSH", queue_key(name), "dead:1")
        self.redis.call("ZADD", deadlines_key(name), int(time.time() * 1000) + 1500, "dead:1")
        begun = time.monotonic()
        reply = self.put(name, waitMs=10000)
        self.assertEqual(reply.status, 201)
        self.assertTrue(1.2 < time.monotonic() - begun < 2.2)

    def test_free__when_a_slow_java_is_the_head__then_redis_is_not_asked_all_the_time(self):
        name = self.name()
        grant = self.held(name)
        java = self.queued_java(name)
        self.parked(name)
        self.let_go(grant)
        before = int(self.commands())
        time.sleep(2)
        self.assertLess(int(self.commands()) - before, 60)
        self.assertTrue(java.try_once())

    def commands(self):
        """Script calls Redis has seen."""
        info = self.redis.call("INFO", "commandstats")
        line = next(line for line in info.splitlines() if line.startswith("cmdstat_evalsha:"))
        return line.split("calls=")[1].split(",")[0]


class TwoInstances(FairCase):
    INSTANCES = 2

    def test_order__when_they_wait_at_two_instances__then_first_come_first_served(self):
        name = self.name()
        grant = self.held(name)
        line = [self.parked(name, i % 2 if i % 3 else 0, owner=str(i)) for i in range(12)]
        self.let_go(grant)
        fences = []
        for i, one in enumerate(line):
            reply = one.reply(3)
            self.assertEqual((reply.status, reply.json["owner"]), (201, str(i)))
            self.assertTrue(all(not other.answered() for other in line[i + 1:]))
            fences.append(reply.json["fence"])
            self.let_go(reply.json, self.client((i + 1) % 2))
        self.assertEqual(fences, sorted(set(fences)))
        self.assert_nothing_left(name)

    def test_wake__when_released_elsewhere__then_the_head_alone_is_told(self):
        name = self.name()
        grant = self.held(name)
        one = self.parked(name, 1)
        base = Subscriber(self.redis, lock_channel(name))
        self.addCleanup(base.close)
        time.sleep(0.05)
        begun = time.monotonic()
        self.let_go(grant)
        self.assertEqual(one.reply().status, 201)
        self.assertLess(time.monotonic() - begun, 0.15)
        self.assertEqual(base.messages(), [])

    def test_head__when_its_client_vanishes_at_one_instance__then_the_next_at_the_other_has_it_at_once(self):
        name = self.name()
        grant = self.held(name)
        java = self.queued_java(name)
        gone, last = self.parked(name, 0), self.parked(name, 1)
        self.let_go(grant)
        self.assertTrue(java.try_once())
        java.release()
        self.let_go(gone.reply().json)
        self.let_go(last.reply(1).json)
        again = self.held(name)
        gone, last = self.parked(name, 0), self.parked(name, 1)
        gone.close()
        self.let_go(again)
        self.assertEqual(last.reply(1).status, 201)

    def test_token__when_it_asks_at_another_instance__then_it_keeps_its_place(self):
        name, mine = self.name(), token()
        grant = self.held(name)
        first = self.parked(name, 0, token=mine)
        self.parked(name, 0)
        before = self.queue(name)
        again = Parked(self.services[1].port, self.path(name), {"waitMs": 20000, "token": mine, **FAIR})
        self.addCleanup(again.close)
        eventually(lambda: self.client(1).get(self.path(name)).json["waiters"] == 1, 5, "waits there too")
        first.close()
        holds_for(lambda: self.queue(name) == before, 1, "it keeps its place")
        self.let_go(grant)
        self.assertEqual(again.reply(2).status, 201)

    def test_ticket__when_it_comes_back_at_another_instance__then_it_is_still_the_first(self):
        name, mine = self.name(), token()
        grant = self.held(name, ttlMs=120000)
        first = self.parked(name, 0, token=mine, waitMs=60000)
        second = self.parked(name, 1, owner="second", waitMs=60000)
        before = self.queue(name)
        reply = first.reply(25)
        self.assertEqual(reply.json, {"status": "queued", "token": mine, "position": 1, "retryWithinMs": 10000})
        second_token = second.reply(25).json["token"]
        self.assertEqual(second.reply().json["position"], 2)
        holds_for(lambda: self.queue(name) == before, LIFE_S + 1, "tickets keep their places")
        again = Parked(self.services[1].port, self.path(name), {"waitMs": 18000, "token": mine, **FAIR})
        self.addCleanup(again.close)
        eventually(lambda: self.client(1).get(self.path(name)).json["waiters"] == 2, 5, "it is back")
        # The ticket of the second ends; that of the first ended where it was made, and changes nothing.
        eventually(lambda: self.queue(name) == before[:1], 12, "the second is out")
        holds_for(lambda: self.queue(name) == before[:1], 2, "the first stays")
        self.let_go(grant)
        self.assertEqual(again.reply(2).status, 201)
        self.assertTrue(second_token)


class DeadInstance(FairCase):
    def test_head__when_its_instance_is_killed__then_skipped_when_its_life_is_over(self):
        other = self.instance("k").start()
        eventually(lambda: other.get("/readyz").json["degraded"] == [], 20, "Redis is up")
        name = self.name()
        grant = self.held(name)
        self.parked(name, port=other.port)
        mine = self.parked(name)
        other.kill()
        begun = time.monotonic()
        self.let_go(grant)
        self.assertEqual(mine.reply(LIFE_S + 3).status, 201)
        self.assertLess(time.monotonic() - begun, LIFE_S + 1.5)
        self.let_go(mine.reply().json)
        self.assert_nothing_left(name)

    def test_drain__when_it_stops__then_its_waiters_are_told_and_leave_the_queue(self):
        other = self.instance("d").start()
        eventually(lambda: other.get("/readyz").json["degraded"] == [], 20, "Redis is up")
        name = self.name()
        grant = self.held(name)
        waiting = self.parked(name, port=other.port)
        mine = self.parked(name)
        other.terminate()
        self.assert_problem(waiting.reply(5), 503, "SYS-011")
        self.until_length(name, 1)
        self.assertEqual(other.exit_status(10), 0)
        self.let_go(grant)
        self.assertEqual(mine.reply(2).status, 201)


if __name__ == "__main__":
    main()
