"""GET /v1/locks/{name}/events: what is told of a lock, at which instance ever it happens, and how streams begin and end."""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.events import Stream
from support.locks import LockCase, Parked
from support.resp import JavaLock
from support.wait import eventually, holds_for

IDLE_MS = 400
POLL_S = 1.0  # what no message announces is seen within it


class EventsCase(LockCase):
    INSTANCES = 2
    ENV = {"LOCKSTOCK_STREAM_IDLE_MS": IDLE_MS, "LOCKSTOCK_STREAMS_MAX": 6}

    def stream(self, name, number=0, **kw):
        one = Stream(self.services[number].port, self.path(name) + "/events", **kw)
        self.addCleanup(one.close)
        return one

    def watch(self, name, number=0, **kw):
        """A stream that was told the state."""
        one = self.stream(name, number, **kw).read()
        self.assertEqual(one.status, 200)
        self.assertEqual(one.until(1)[0].event, "state", one.events)
        return one

    def open_streams(self, number=0):
        return self.services[number].metric("lockstock_http_streams")

    def until_none_open(self):
        eventually(lambda: self.open_streams(0) + self.open_streams(1) == 0, 5, "no stream is open")

    def tearDown(self):
        self.doCleanups()
        self.until_none_open()


class Told(EventsCase):

    def test_get__when_free__then_head_and_state_at_once(self):
        name = self.name()
        one = self.watch(name)
        self.assertEqual(one.headers["content-type"], "text/event-stream")
        self.assertEqual(one.headers["cache-control"], "no-cache")
        self.assertNotIn("content-length", one.headers)
        self.assertIn("x-request-id", one.headers)
        self.assertEqual(one.retry, "1000")
        self.assertEqual(one.events[0].data, self.http.get(self.path(name)).json)
        self.assertIsNone(one.events[0].id)

    def test_take_and_release__when_here__then_told_at_once_with_holder_and_fence(self):
        name = self.name()
        one = self.watch(name)
        grant = self.held(name, owner="billing-1", metadata={"job": 7}, ttlMs=20000)
        told = one.find("granted", 0.8)
        self.assertEqual((told.data["name"], told.data["kind"], told.data["held"]), (name, "lock", True))
        holder = told.data["holder"]
        self.assertEqual((holder["owner"], holder["fence"], holder["metadata"]), ("billing-1", grant["fence"], {"job": 7}))
        self.assertTrue(0 <= holder["heldForMs"] < 5000 and 0 < holder["expiresInMs"] <= 20000, holder)
        self.assertEqual(told.id, str(grant["fence"]))
        self.let_go(grant)
        gone = one.find("released", 0.8, owner="billing-1", fence=grant["fence"])
        self.assertFalse(gone.data["held"])
        self.assertEqual(one.names(), ["state", "granted", "released"])
        self.assertNotIn(grant["token"], repr(one.events))

    def test_take_and_release__when_at_the_other_instance__then_told_within_a_second(self):
        name, other = self.name(), self.client(1)
        one = self.watch(name)
        grant = self.held(name, other)
        one.find("granted", POLL_S + 1, fence=grant["fence"])
        self.let_go(grant, other)
        one.find("released", POLL_S + 1, fence=grant["fence"])

    def test_end_of_lease__when_nobody_releases__then_expired(self):
        name = self.name()
        one, two = self.watch(name), self.watch(name, 1)
        grant = self.held(name, ttlMs=2000)
        two.find("granted", POLL_S + 1, fence=grant["fence"])
        for stream in (one, two):
            gone = stream.find("expired", 4, fence=grant["fence"])
            self.assertFalse(gone.data["held"])
        self.assertEqual(self.delete(name, grant["token"]).json["reason"], "expired")

    def test_expiry__when_the_next_has_it_already__then_still_expired(self):
        name = self.name()
        one = self.watch(name)
        first = self.held(name, ttlMs=500, owner="dead")
        second = self.put(name, waitMs=5000, owner="next").json
        one.find("expired", 3, owner="dead", fence=first["fence"])
        one.find("granted", 3, owner="next", fence=second["fence"])

    def test_force__then_forced(self):
        name = self.name()
        one, two = self.watch(name), self.watch(name, 1)
        grant = self.held(name, owner="stuck")
        two.find("granted", POLL_S + 1, owner="stuck")
        self.assertEqual(self.http.request("DELETE", self.path(name) + "?force=true&reason=test").status, 204)
        one.find("forced", POLL_S + 1, owner="stuck", fence=grant["fence"])
        two.find("forced", POLL_S + 1, owner="stuck", fence=grant["fence"])

    def test_key__when_deleted_by_hand_or_by_losing_all__then_lost(self):
        for command in (lambda name: ("DEL", name), lambda _name: ("FLUSHALL",)):
            name = self.name()
            one = self.watch(name)
            grant = self.held(name)
            one.find("granted", 1)
            self.redis.call(*command(name))
            one.find("lost", POLL_S + 1, fence=grant["fence"])

    def test_hand_over__then_released_and_granted_and_the_queue_is_told(self):
        name = self.name()
        one = self.watch(name)
        first = self.held(name, owner="first")
        one.find("granted", 2, owner="first")
        parked = Parked(self.services[0].port, self.path(name), {"waitMs": 20000, "owner": "second"})
        self.addCleanup(parked.close)
        eventually(lambda: one.events[-1].data["waiters"] == 1, 3, "the waiter is told of")
        self.assertEqual(one.events[-1].event, "queue")
        self.let_go(first)
        grant = parked.reply().json
        one.find("released", 2, owner="first")
        told = one.find("granted", 2, owner="second", fence=grant["fence"])
        self.assertEqual(told.data["waiters"], 0)

    def test_reconnect__when_last_event_id_is_sent__then_the_state_as_ever(self):
        name = self.name()
        grant = self.held(name)
        for last in (str(grant["fence"]), "nonsense", "-1"):
            one = self.watch(name, headers={"Last-Event-ID": last})
            self.assertEqual(one.events[0].id, str(grant["fence"]))
            self.assertEqual(one.events[0].data["holders"][0]["fence"], grant["fence"])
            one.close()
            self.until_none_open()

    def test_many__when_they_watch_one_name__then_all_are_told_and_redis_is_asked_once(self):
        name = self.name()
        streams = [self.watch(name) for _ in range(6)]
        grant = self.held(name)
        for one in streams:
            one.find("granted", 2, fence=grant["fence"])
        before = self._scripts_run()
        time.sleep(3)  # a rate is to be seen
        self.assertLess(self._scripts_run() - before, 3 * 3 + 8)

    def _scripts_run(self):
        info = self.redis.call("INFO", "commandstats")
        text = info if isinstance(info, str) else info.decode()
        return sum(int(line.split("calls=")[1].split(",")[0]) for line in text.splitlines()
                   if line.startswith("cmdstat_evalsha:"))


class Kinds(EventsCase):

    def test_java_holder__then_told_as_a_stranger_and_its_release(self):
        name = self.name()
        one = self.watch(name)
        java = JavaLock(self.redis, name, lease_ms=20000)
        self.addCleanup(java.close)
        java.take(5)
        told = one.find("granted", POLL_S + 1, owner=None)
        self.assertEqual((told.data["kind"], told.data["holder"]["fence"]), ("lock", None))
        java.release()
        one.find("released", POLL_S + 1, owner=None)

    def test_fair__then_as_any_other(self):
        name, other = self.name(), self.client(1)
        one = self.watch(name)
        grant = self.held(name, other, kind="fair")
        self.assertEqual(one.find("granted", POLL_S + 1).data["kind"], "fair")
        self.let_go(grant, other)
        one.find("released", POLL_S + 1, fence=grant["fence"])

    def test_readers__then_each_is_told_of(self):
        name, read = self.name(), {"kind": "rw", "mode": "shared"}
        one = self.watch(name)
        first, second = self.held(name, **read, owner="r1"), self.held(name, **read, owner="r2", ttlMs=800)
        one.find("granted", 2, owner="r1")
        one.find("granted", 2, owner="r2")
        one.find("expired", 3, owner="r2", fence=second["fence"])
        self.let_go(first)
        gone = one.find("released", 2, owner="r1")
        self.assertEqual((gone.data["kind"], gone.data["held"]), ("rw", False))
        writer = self.held(name, kind="rw", owner="w")
        one.find("granted", 2, owner="w", fence=writer["fence"])

    def test_readers__when_more_than_are_told_of__then_the_first(self):
        name = self.name()
        for number in range(20):
            self.held(name, kind="rw", mode="shared", owner=f"r{number}")
        holders = self.watch(name).events[0].data["holders"]
        self.assertEqual([holder["owner"] for holder in holders], [f"r{number}" for number in range(16)])

    def test_database_name__then_told_too(self):
        name, other = self.name(), self.client(1)
        one = self.watch(name)
        grant = self.held(name, other, store="database", ttlMs=20000)
        one.find("granted", POLL_S + 1, fence=grant["fence"])
        self.let_go(grant, other)
        one.find("released", POLL_S + 1, fence=grant["fence"])
        second = self.held(name, store="database", ttlMs=600)
        one.find("expired", 4, fence=second["fence"])


class Streams(EventsCase):

    def test_idle__then_comments(self):
        one = self.watch(self.name())
        eventually(lambda: len(one.comments) >= 3, 5, "comments")
        self.assertEqual(one.names(), ["state"])

    def test_hang_up__then_forgotten_within_a_second(self):
        one = self.watch(self.name())
        self.assertEqual(self.open_streams(), 1)
        one.socket.shutdown(2)
        eventually(lambda: self.open_streams() == 0, 1, "forgotten")

    def test_limit__when_reached__then_429_and_free_again_after(self):
        name = self.name()
        streams = [self.watch(self.name()) for _ in range(6)]
        refused = self.http.get(self.path(name) + "/events")
        self.assertEqual((refused.status, refused.code, refused.headers["retry-after"]), (429, "SYS-010", "10"))
        streams[0].close()
        eventually(lambda: self.http.request("HEAD", self.path(name) + "/events").status == 200, 3, "room again")

    def test_head__then_headers_alone_and_the_connection_goes_on(self):
        path = self.path(self.name()) + "/events"
        reply = self.http.request("HEAD", path)
        self.assertEqual((reply.status, reply.headers["content-type"]), (200, "text/event-stream"))
        self.assertEqual(self.http.get("/healthz").status, 200)

    def test_http_1_0__then_unframed_and_ended_by_the_connection(self):
        name = self.name()
        one = self.watch(name, version="1.0")
        self.assertNotIn("transfer-encoding", one.headers)
        grant = self.held(name)
        one.find("granted", 2, fence=grant["fence"])

    def test_name_and_query__when_bad__then_problems(self):
        self.assertEqual(self.http.get("/v1/locks/a%7Bb/events").status, 400)
        self.assertEqual(self.http.get("/v1/locks/a/events?x=1").status, 400)
        self.assertEqual(self.http.put("/v1/locks/a/events", {}).status, 405)


class Ends(EventsCase):

    def test_redis_away__then_unknown_once_and_the_state_when_it_is_back(self):
        name = self.name()
        self.held(name)
        one = self.watch(name)
        self.stack.redis.kill()
        self.addCleanup(self.stack.heal)
        one.find("unknown", 4)
        self.assertEqual(self.http.get(self.path(name) + "/events").status, 503)
        self.stack.heal()
        self.until_redis()
        eventually(lambda: one.names()[-1] == "state", 5, "the state again")
        self.assertEqual(one.names().count("unknown"), 1)

    def test_drain__then_streams_end_in_order_and_the_process_soon(self):
        extra = self.instance("drained", env=self.ENV).start()
        one = Stream(extra.port, self.path(self.name()) + "/events").read()
        one.until(1)
        self.services.remove(extra)
        self.assertEqual(extra.stop(), 0)
        eventually(lambda: one.ended, 3, "the end")
        self.assertTrue(one.clean)
        self.assertLess(extra.stopped_in_s, 5)


class Removal(EventsCase):
    """Without looks by time nobody here learns what happens elsewhere."""
    FAULTS = "no-watch-poll"

    def test_no_polling__then_the_other_instance_is_not_seen(self):
        name, other = self.name(), self.client(1)
        one = self.watch(name)
        grant = self.held(name, other)
        holds_for(lambda: one.names() == ["state"], 2 * POLL_S, "nothing is told")
        self.let_go(grant, other)


if __name__ == "__main__":
    main()
