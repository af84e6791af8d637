"""Kind rw on Redis: many readers or one writer; the Redis layout; who waits for whom; leases of readers."""

import concurrent.futures
import hashlib
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.locks import LockCase, Parked, token
from support.resp import Subscriber
from support.wait import SLOW, eventually, holds_for

READ = {"kind": "rw", "mode": "shared"}
WRITE = {"kind": "rw", "mode": "exclusive"}
REARM_INDEX = "lockstock:rw-rearm"


def field_of(grant):
    return hashlib.sha256(b"anonymous\0" + grant["token"].encode()).hexdigest()


class RwCase(LockCase):
    """Reads, writes and what stands in Redis."""

    def read(self, name, **body):
        return self.held(name, **{**READ, **body})

    def write(self, name, **body):
        return self.held(name, **{**WRITE, **body})

    def status(self, name, number=0):
        reply = self.on_own_connection("GET", self.path(name), number=number)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def parked(self, name, number=0, **body):
        before = self.status(name, number)["waiters"]
        one = Parked(self.services[number].port, self.path(name), {"waitMs": 15000, **body})
        self.addCleanup(one.close)
        eventually(lambda: self.status(name, number)["waiters"] == before + 1, 5, "queued")
        return one

    def fields(self, name):
        flat = self.redis.call("HGETALL", name)
        return dict(zip(flat[::2], flat[1::2]))

    @staticmethod
    def timeout_key(name, field, number=1):
        return "{" + name + "}:" + field + f":rwlock_timeout:{number}"

    def java_reads(self, name, owner, ttl_ms):
        """What readLock().lock(ttl) writes."""
        self.redis.call("HSET", name, "mode", "read", owner, 1)
        self.redis.call("SET", self.timeout_key(name, owner), 1, "PX", ttl_ms)
        if self.redis.call("PTTL", name) < ttl_ms:
            self.redis.call("PEXPIRE", name, ttl_ms)

    def assert_refused(self, reply, **extras):
        return self.assert_problem(reply, 423, "LCK-001", **extras)

    def assert_gone(self, name):
        self.assertEqual([k for k in self.redis.call("KEYS", "*" + name + "*") if not k.startswith("lockstock:")], [])


class Modes(RwCase):

    def test_readers__then_together_and_a_writer_alone(self):
        name = self.name()
        first, second = self.read(name), self.read(name)
        self.assertEqual((first["kind"], first["mode"]), ("rw", "shared"))
        self.assertGreater(second["fence"], first["fence"])
        self.assert_refused(self.put(name, **WRITE))
        self.let_go(first)
        self.assert_refused(self.put(name, **WRITE))
        self.let_go(second)
        writer = self.write(name)
        self.assertEqual(writer["mode"], "exclusive")
        self.assertGreater(writer["fence"], second["fence"])
        holder = self.assert_refused(self.put(name, **READ))["holder"]
        self.assertEqual((holder["owner"], holder["fence"]), (writer["owner"], writer["fence"]))
        self.assert_refused(self.put(name, **WRITE))
        self.let_go(writer)
        self.assert_gone(name)

    def test_put__when_repeated__then_the_same_grant_not_extended(self):
        for body in (READ, WRITE):
            name, mine = self.name(), token()
            first = self.held(name, token=mine, ttlMs=5000, **body)
            time.sleep(0.2)
            again = self.put(name, token=mine, ttlMs=60000, **body)
            self.assertEqual((again.status, again.json["fence"], again.json["mode"]),
                             (200, first["fence"], body["mode"]))
            self.assertLessEqual(again.json["safeForMs"], first["safeForMs"])
            self.assertLessEqual(self.redis.call("PTTL", name), 5000)

    def test_writer__when_it_asks_to_read__then_it_has_its_grant_which_does_both(self):
        name = self.name()
        writer = self.write(name)
        reply = self.put(name, token=writer["token"], **READ)
        self.assertEqual((reply.status, reply.json["mode"], reply.json["fence"]), (200, "exclusive", writer["fence"]))
        self.assert_refused(self.put(name, **READ))

    def test_reader__when_it_asks_to_write__then_refused_at_once_and_still_a_reader(self):
        name = self.name()
        reader = self.read(name)
        begin = time.monotonic()
        document = self.assert_refused(self.put(name, token=reader["token"], waitMs=10000, **WRITE))
        self.assertLess(time.monotonic() - begin, 2 * SLOW)
        self.assertIn("itself", document["detail"])
        self.assertEqual(document["holder"]["fence"], reader["fence"])
        self.assertEqual(self.patch(name, reader["token"]).json["mode"], "shared")

    def test_token__when_it_waits_in_both_modes__then_the_writer_never_gets_a_read_grant(self):
        name, mine = self.name(), token()
        writer = self.write(name)
        one, two = self.parked(name, token=mine, **READ), Parked(self.service.port, self.path(name),
                                                                 {"waitMs": 15000, "token": mine, **WRITE})
        self.addCleanup(two.close)
        time.sleep(0.1)
        self.let_go(writer)
        replies = [one.reply(), two.reply()]
        self.assertEqual(sorted(r.status for r in replies), [200, 201])
        self.assertEqual({r.json["mode"] for r in replies}, {"exclusive"})

    def test_kind__when_used_as_another__then_lck_005(self):
        name, other = self.name(), self.name()
        self.let_go(self.read(name))
        self.assert_problem(self.put(name), 409, "LCK-005", kind="rw")
        self.assert_problem(self.http.put("/v1/semaphores/" + self.path(name)[len("/v1/locks/"):], {"limit": 2}),
                            409, "LCK-005", kind="rw")
        self.let_go(self.held(other))
        for body in (READ, WRITE):
            self.assert_problem(self.put(other, **body), 409, "LCK-005", kind="lock")
        for command, kind in ((("SET", "{}", "x"), "string"), (("HSET", "{}", "o:1", "1"), "lock")):
            name = self.name()
            self.redis.call(command[0], name, *command[2:])
            before = self.redis.call("DUMP", name)
            self.assert_problem(self.put(name, **READ), 409, "LCK-005", kind=kind)
            self.assertEqual(self.redis.call("DUMP", name), before)

    def test_set__then_all_in_one_mode_or_none(self):
        names = [self.name() for _ in range(3)]
        reader = self.read(names[1])
        document = self.assert_refused(self.http.put("/v1/locks", {"names": names, **WRITE}))
        self.assertEqual(document["name"], names[1])
        self.assertFalse(self.status(names[0])["held"])
        reply = self.http.put("/v1/locks", {"names": names, **READ})
        self.assertEqual((reply.status, reply.json["mode"], len(reply.json["locks"])), (201, "shared", 3), reply)
        done = self.http.request("DELETE", "/v1/locks", headers={"Lock-Token": reply.json["token"]})
        self.assertEqual(sorted(done.json["released"]), sorted(names))
        self.let_go(reader)


class Status(RwCase):

    def test_get__when_read__then_all_holders_with_the_mode(self):
        name = self.name()
        first = self.read(name, owner="a", metadata={"x": 1})
        second = self.read(name, owner="b", ttlMs=9000)
        self.java_reads(name, "u-u-i-d:7", 4000)
        status = self.status(name)
        self.assertEqual((status["kind"], status["held"], status["mode"], status["fence"]),
                         ("rw", True, "shared", second["fence"]))
        self.assertEqual([(h["owner"], h["fence"], h["metadata"]) for h in status["holders"]],
                         [("a", first["fence"], {"x": 1}), ("b", second["fence"], None), (None, None, None)])
        ends = [h["expiresInMs"] for h in status["holders"]]
        self.assertTrue(25000 < ends[0] <= 30000 and 5000 < ends[1] <= 9000 and 0 < ends[2] <= 4000, ends)
        listed = self.http.get("/v1/locks?prefix=" + name).json["items"]
        self.assertEqual([(i["mode"], len(i["holders"])) for i in listed], [("shared", 3)])
        self.assertNotIn(first["token"], str(status))

    def test_get__when_written_or_free__then_so(self):
        name = self.name()
        writer = self.write(name)
        status = self.status(name)
        self.assertEqual((status["kind"], status["mode"], len(status["holders"])), ("rw", "exclusive", 1))
        self.let_go(writer)
        status = self.status(name)
        self.assertEqual((status["kind"], status["held"], status["mode"], status["holders"], status["fence"]),
                         ("rw", False, None, [], writer["fence"]))


class Layout(RwCase):

    def test_reader__then_as_redisson_writes_it_and_no_secret(self):
        name = self.name()
        grant = self.read(name, ttlMs=20000)
        field = field_of(grant)
        self.assertEqual(self.fields(name), {"mode": "read", field: "1"})
        self.assertEqual(self.redis.call("GET", self.timeout_key(name, field)), "1")
        for key in (name, self.timeout_key(name, field)):
            self.assertTrue(19000 < self.redis.call("PTTL", key) <= 20000)
        longer = self.read(name, ttlMs=40000)
        self.read(name, ttlMs=1000)
        self.assertGreater(self.redis.call("PTTL", name), 39000, "never shortened by another reader")
        self.let_go(longer)
        self.assertTrue(18000 < self.redis.call("PTTL", name) <= 20000, "as long as the longest that is left")
        kept = self.redis.call("HGETALL", "lockstock:rw-holders:" + name)
        self.assertNotIn(grant["token"], str(kept))

    def test_writer__then_as_redisson_writes_it(self):
        name = self.name()
        grant = self.write(name, ttlMs=20000)
        self.assertEqual(self.fields(name), {"mode": "write", field_of(grant) + ":write": "1"})
        self.assertTrue(19000 < self.redis.call("PTTL", name) <= 20000)
        self.let_go(grant)
        self.assert_gone(name)

    def test_messages__then_1_and_0_of_a_writer_and_0_of_the_last_reader(self):
        name = self.name()
        heard = Subscriber(self.redis, "redisson_rwlock:{" + name + "}")
        self.addCleanup(heard.close)
        self.let_go(self.write(name))
        eventually(lambda: heard.messages() == ["1", "0"], 5, "the writer's")
        first, second = self.read(name), self.read(name)
        self.let_go(first)
        self.let_go(second)
        eventually(lambda: heard.messages() == ["1", "0", "0"], 5, "the last reader's alone")

    def test_java_readers__when_ours_release__then_theirs_stay(self):
        name = self.name()
        self.java_reads(name, "u:1", 8000)
        ours = self.read(name, ttlMs=30000)
        self.let_go(ours)
        self.assertEqual(self.fields(name), {"mode": "read", "u:1": "1"})
        self.assertTrue(0 < self.redis.call("PTTL", name) <= 8000)
        ours = self.read(name)
        self.redis.call("DEL", self.timeout_key(name, "u:1"))
        self.let_go(ours)
        self.assert_gone(name)


class Leases(RwCase):

    def test_renew__then_longer_or_shorter_and_the_mode_is_told(self):
        for body in (READ, WRITE):
            name = self.name()
            grant = self.held(name, ttlMs=1000, **body)
            reply = self.patch(name, grant["token"], ttlMs=30000)
            self.assertEqual((reply.status, reply.json["kind"], reply.json["mode"], reply.json["fence"]),
                             (200, "rw", body["mode"], grant["fence"]), reply)
            self.assertGreater(self.redis.call("PTTL", name), 29000)
            self.assertEqual(self.patch(name, grant["token"], ttlMs=500).status, 200)
            self.assertLessEqual(self.redis.call("PTTL", name), 500)
            self.assert_problem(self.patch(name, grant["token"], fence=grant["fence"] + 1), 410, "LCK-002",
                                reason="superseded")

    def test_release__when_repeated__then_204_and_the_loss_is_told_by_its_reason(self):
        for body in (READ, WRITE):
            name = self.name()
            grant = self.held(name, **body)
            self.let_go(grant)
            self.let_go(grant)
            self.assert_problem(self.patch(name, grant["token"]), 410, "LCK-002", reason="released")
            grant = self.held(name, **body)
            self.redis.call("DEL", name)
            self.assert_problem(self.patch(name, grant["token"]), 410, "LCK-002", reason="vanished")
            self.assertEqual(self.redis.call("EXISTS", name), 0, "never made anew")
            self.assert_problem(self.delete(name, token()), 410, "LCK-002", reason="unknown")

    def test_expiry__when_one_reader_of_many_ends__then_the_others_stay(self):
        name = self.name()
        dead, kept = self.read(name, ttlMs=150), self.read(name, ttlMs=20000)
        time.sleep(0.2)
        self.assert_problem(self.patch(name, dead["token"]), 410, "LCK-002", reason="expired")
        self.assertEqual(self.fields(name), {"mode": "read", field_of(kept): "1"})
        self.assert_refused(self.put(name, **WRITE))
        self.assertEqual(self.patch(name, kept["token"]).status, 200)
        self.let_go(kept)
        writer = self.write(name)
        self.assert_problem(self.delete(name, dead["token"]), 410, "LCK-002", reason="expired")
        self.let_go(writer)

    def test_expiry__when_a_dead_reader_is_the_last_of_ours__then_it_is_cleaned_without_a_call(self):
        name = self.name()
        dead = self.read(name, ttlMs=300)
        self.java_reads(name, "u:1", 60000)
        eventually(lambda: self.fields(name) == {"mode": "read", "u:1": "1"}, 10, "cleaned")
        self.assertIsNone(self.redis.call("ZSCORE", REARM_INDEX, name))
        self.assertGreater(self.redis.call("PTTL", name), 40000, "theirs is untouched")
        self.assert_problem(self.patch(name, dead["token"]), 410, "LCK-002", reason="expired")

    def test_expiry__when_a_writer_ends__then_a_waiter_goes_on(self):
        name = self.name()
        self.write(name, ttlMs=400)
        begin = time.monotonic()
        self.assertEqual(self.put(name, waitMs=5000, **READ).status, 201)
        self.assertTrue(0.2 < time.monotonic() - begin < 0.4 + SLOW)

    def test_rearm__when_a_watchdog_cut_the_hash__then_put_back_within_10_s(self):
        name = self.name()
        grant = self.read(name, ttlMs=300000)
        for key in (name, self.timeout_key(name, field_of(grant))):
            self.redis.call("PEXPIRE", key, 30000)
        eventually(lambda: self.redis.call("PTTL", name) > 250000, 10, "the hash")
        self.assertGreater(self.redis.call("PTTL", self.timeout_key(name, field_of(grant))), 250000)
        self.java_reads(name, "u:1", 600000)
        time.sleep(4.5)
        self.assertGreater(self.redis.call("PTTL", name), 550000, "never shortened")

    def test_force__then_all_are_told_and_the_fence_grows(self):
        for body, message in ((READ, "0"), (WRITE, "1")):
            name = self.name()
            grants = [self.held(name, **body)]
            if body is READ:
                grants.append(self.read(name))
            heard = Subscriber(self.redis, "redisson_rwlock:{" + name + "}")
            self.addCleanup(heard.close)
            waiter = self.parked(name, **WRITE)
            reply = self.http.request("DELETE", self.path(name) + "?force=true&reason=test")
            self.assertEqual(reply.status, 204, reply)
            writer = waiter.reply(5).json
            self.assertGreater(writer["fence"], grants[-1]["fence"] + 1)
            self.assertEqual(heard.messages()[:1], [message])
            for grant in grants:
                document = self.assert_problem(self.patch(name, grant["token"]), 410, "LCK-002", reason="forced")
                self.assertIsNotNone(document["heldByOtherSince"])
            self.let_go(writer)
            self.assert_gone(name)


class Waiting(RwCase):

    INSTANCES = 2

    def test_queue__when_a_writer_waits__then_no_new_reader_of_its_instance_passes(self):
        name = self.name()
        first = self.read(name)
        writer = self.parked(name, **WRITE)
        behind = [self.parked(name, **READ) for _ in range(3)]
        last = self.parked(name, **WRITE)
        self.assert_refused(self.put(name, **READ))
        holds_for(lambda: not any(one.answered() for one in behind), 0.3, "behind the writer")
        self.let_go(first)
        grant = writer.reply(5).json
        holds_for(lambda: not any(one.answered() for one in behind), 0.2, "it writes")
        self.let_go(grant)
        readers = [one.reply(5).json for one in behind]
        self.assertEqual(self.status(name)["mode"], "shared")
        self.assertEqual(len(self.status(name)["holders"]), 3)
        self.assertFalse(last.answered())
        for reader in readers:
            self.let_go(reader)
        self.let_go(last.reply(5).json)
        self.assert_gone(name)

    def test_instances__when_readers_follow_each_other_on_one__then_the_writer_of_the_other_has_its_turn(self):
        name = self.name()
        reader = self.read(name)
        writer = self.parked(name, number=1, **WRITE)
        deadline = time.monotonic() + 5
        while not writer.answered() and time.monotonic() < deadline:
            again = self.put(name, waitMs=200, **READ)  # in before the one before it goes
            self.delete(name, reader["token"])
            if again.status == 201:
                reader = again.json
        self.assertTrue(writer.answered(), "readers kept it out")
        self.let_go(writer.reply().json)

    def test_writer__when_it_gives_up__then_the_reader_behind_it_is_in_at_once(self):
        name = self.name()
        reader = self.read(name)
        gives_up = self.parked(name, waitMs=400, **WRITE)
        behind = self.parked(name, **READ)
        self.assertEqual(gives_up.reply(5).status, 423)
        begin = time.monotonic()
        self.let_go(behind.reply(5).json)
        self.assertLess(time.monotonic() - begin, 1.2 * SLOW)
        self.let_go(reader)

    def test_instances__when_a_writer_goes__then_readers_of_both_come_in_at_once(self):
        name = self.name()
        grant = self.write(name)
        line = [self.parked(name, number=n % 2, **READ) for n in range(6)]
        begin = time.monotonic()
        self.let_go(grant)
        grants = [one.reply(5).json for one in line]
        self.assertLess(time.monotonic() - begin, 0.8 * SLOW)
        self.assertEqual(len(self.status(name)["holders"]), 6)
        for one in grants:
            self.let_go(one)

    def test_writers__when_many_of_both_instances__then_never_two_and_never_beside_readers(self):
        name, inside, seen = self.name(), [], []

        def work(number):
            mode = WRITE if number % 3 == 0 else READ
            reply = self.service_put(name, number % 2, waitMs=30000, ttlMs=20000, **mode)
            self.assertEqual(reply.status, 201, reply)
            inside.append(mode["mode"])
            seen.append(list(inside))
            time.sleep(0.004)
            inside.remove(mode["mode"])
            done = self.on_own_connection("DELETE", self.path(name), number=number % 2,
                                          headers={"Lock-Token": reply.json["token"]})
            self.assertEqual(done.status, 204, done)

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for future in [pool.submit(work, n) for n in range(120)]:
                future.result()
        self.assertTrue(all(len(s) == 1 for s in seen if "exclusive" in s), seen)
        self.assertGreater(max(len(s) for s in seen), 1)
        self.assert_gone(name)

    def test_downgrade__when_nothing_is_published__then_polling_lets_a_reader_in(self):
        name = self.name()
        self.redis.call("HSET", name, "mode", "write", "u:1:write", 1)
        self.redis.call("PEXPIRE", name, 60000)
        waiter = self.parked(name, **READ)
        self.java_reads(name, "u:1", 60000)
        self.redis.call("HDEL", name, "u:1:write")
        self.assertEqual(waiter.reply(2 * SLOW).status, 201)

    def test_undelivered__when_a_waiting_reader_hung_up__then_nothing_of_it_stays(self):
        name = self.name()
        grant = self.write(name)
        gone = self.parked(name, **READ)
        gone.close()
        eventually(lambda: self.status(name)["waiters"] == 0, 5, "it left")
        self.let_go(grant)
        self.let_go(self.write(name))
        self.assert_gone(name)


if __name__ == "__main__":
    main()
