"""Java's ShedLock (JdbcTemplateLockProvider, usingDbTime) and ours on one table: they exclude each other both ways, honour
each other's minimum and extensions, in whatever time zones the virtual machines and their sessions are."""

import concurrent.futures
import functools
import secrets
import subprocess
import sys
import time

from peers import Peer

from support import schedules
from support.case import Case, main
from support.stack import PASSWORD, USER, program
from support.wait import eventually

# (zone of the virtual machine, zone of its database sessions)
ZONES = (("Europe/Berlin", "Asia/Seoul"), ("Asia/Seoul", "UTC"), ("UTC", "Europe/Berlin"))
BUILD = "redisson-4"  # whose folder holds the Java peer with ShedLock beside it
# As ShedLock's documentation gives the table.
TIMESTAMPS = ("CREATE TABLE shedlock(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP(3) NOT NULL,"
              " locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), locked_by VARCHAR(255) NOT NULL,"
              " PRIMARY KEY (name))")


@functools.cache
def load_zones(stack):
    """The server's own table of time zones, by its own tool."""
    tool = program("mariadb-tzinfo-to-sql", "mysql_tzinfo_to_sql")
    for zone in ("Europe/Berlin", "Asia/Seoul", "UTC"):
        sql = subprocess.run([tool, f"/usr/share/zoneinfo/{zone}", zone], capture_output=True, text=True,
                             check=True).stdout
        client = [program("mariadb", "mysql"), "--no-defaults", "-h127.0.0.1", f"-P{stack.mysql.port}", "-uroot", "mysql"]
        subprocess.run(client, input=sql, text=True, check=True, capture_output=True)


def with_each_peer(test):
    """The test runs once for each peer, with a name of its own."""
    @functools.wraps(test)
    def run(self):
        for peer, zones in zip(self.peers, self.PEERS):
            with self.subTest(zones=zones):
                self.name = "t:" + secrets.token_hex(4)
                test(self, peer)
    return run


class ShedLockCase(Case):
    INSTANCES = 2
    ENV = {"LOCKSTOCK_JOBS": "off", "LOCKSTOCK_REDIS_URL": ""}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        load_zones(cls.stack)
        cls.peers = [cls.peer(*zones) for zones in cls.PEERS]

    @classmethod
    def peer(cls, jvm, session):
        """A process of Java; session None: as the server has it."""
        kind = "mysql" if cls.stack.mysql.oracle else "mariadb"
        variables = f"?sessionVariables=time_zone='{session}'" if session else ""
        url = f"jdbc:{kind}://127.0.0.1:{cls.stack.mysql.port}/{cls.db.name}{variables}"
        peer = Peer(BUILD, [url, USER, PASSWORD], cls.stack.log_path(f"shedlock-{jvm.replace('/', '-')}"),
                    java=[f"-Duser.timezone={jvm}"])
        cls.addClassCleanup(peer.kill)
        return peer

    def setUp(self):
        super().setUp()
        self.name = "t:" + secrets.token_hex(4)

    def java(self, peer, command, *arguments):
        return peer.ask("t1", command, self.name, *arguments)

    def take(self, at_most="PT10M", at_least="PT0S", number=0):
        return schedules.take(self.client(number), self.name, at_most, at_least)

    def held(self, *args, **kw):
        reply = self.take(*args, **kw)
        self.assertEqual(reply.status, 201, reply)
        return reply.json

    def of_token(self, method, token, body=None, number=0):
        return self.client(number).request(method, f"/v1/schedules/{self.name}", body, headers={"Lock-Token": token})

    def span_ms(self):
        """From locked_at to lock_until."""
        return self.db.value("SELECT TIMESTAMPDIFF(MICROSECOND, locked_at, lock_until) DIV 1000 FROM shedlock"
                             " WHERE name=%s", self.name)

    def locked_at(self):
        return self.db.value("SELECT locked_at FROM shedlock WHERE name=%s", self.name)

    def until_past(self, ms):
        """The end it had before it was extended has passed on the database's clock."""
        sql = "SELECT UTC_TIMESTAMP(3) > locked_at + INTERVAL %s * 1000 MICROSECOND FROM shedlock WHERE name=%s"
        eventually(lambda: self.db.value(sql, ms, self.name), 10, "the first end has passed")

    def until_ours(self):
        return eventually(lambda: (lambda r: r.json if r.status == 201 else None)(self.take()), 10, "free for ours")

    def until_java(self, peer):
        return eventually(lambda: self.java(peer, "lock", 600000, 0), 10, "free for Java")


class ShedLock(ShedLockCase):
    PEERS = ZONES

    def test_zones__when_asked__then_they_are_mixed(self):
        for peer, zones in zip(self.peers, ZONES):
            self.assertEqual(self.java(peer, "zones"), " ".join(zones))
        print(f"    ShedLock {self.peers[0].version}", file=sys.stderr)

    @with_each_peer
    def test_exclusion__when_java_holds__then_ours_is_refused_until_it_unlocks(self, peer):
        self.assertTrue(self.java(peer, "lock", 600000, 0))
        for number in (0, 1):
            found = self.assert_problem(self.take(number=number), 423, "SCH-001")
            self.assertRegex(found["lockedBy"], r"^java-\d+$")
            self.assertTrue(590000 < found["retryAfterMs"] <= 600000, found)
        self.java(peer, "unlock")
        self.held(number=1)

    @with_each_peer
    def test_exclusion__when_ours_is_held__then_java_is_refused_until_released(self, peer):
        got = self.held()
        for other in self.peers:
            self.assertFalse(self.java(other, "lock", 600000, 0))
        self.assertEqual(self.of_token("DELETE", got["token"], number=1).status, 204)
        self.assertTrue(self.java(peer, "lock", 600000, 0))

    @with_each_peer
    def test_expiry__when_a_holder_is_late__then_the_other_has_it_and_is_not_disturbed(self, peer):
        self.assertTrue(self.java(peer, "lock", 300, 0))
        got = self.until_ours()
        self.assertFalse(self.java(peer, "extend", 600000, 0))
        self.assertFalse(self.java(peer, "lock", 1000, 0))
        self.assertEqual(self.of_token("PATCH", got["token"], {"lockAtMostFor": "PT0.3S"}).status, 200)
        self.until_java(peer)
        self.assert_problem(self.of_token("DELETE", got["token"]), 410, "SCH-002")
        self.assertEqual(self.take().status, 423)

    def test_unlock__when_java_is_late__then_our_lock_stays(self):
        peer = self.peers[0]
        self.assertTrue(self.java(peer, "lock", 200, 0))
        self.until_ours()
        self.java(peer, "unlock")
        self.assertEqual(self.take().status, 423)

    @with_each_peer
    def test_minimum__when_either_is_quick__then_the_other_waits_it_out(self, peer):
        self.assertTrue(self.java(peer, "lock", 600000, 700))
        taken = self.locked_at()
        self.java(peer, "unlock")
        self.assertEqual(self.span_ms(), 700)
        got = self.until_ours()
        self.assertGreaterEqual((self.locked_at() - taken).total_seconds(), 0.7)
        self.assertEqual(self.of_token("DELETE", got["token"]).status, 204)
        got = self.held("PT10M", "PT0.7S")
        self.assertEqual(self.of_token("DELETE", got["token"]).status, 204)
        taken = self.locked_at()
        self.assertFalse(self.java(peer, "lock", 600000, 0))
        self.until_java(peer)
        self.assertGreaterEqual((self.locked_at() - taken).total_seconds(), 0.7)

    @with_each_peer
    def test_extend__when_either_does__then_the_other_waits(self, peer):
        self.assertTrue(self.java(peer, "lock", 400, 0))
        self.assertTrue(self.java(peer, "extend", 600000, 0))
        self.until_past(400)
        self.assertEqual(self.take().status, 423)
        self.java(peer, "unlock")
        got = self.held("PT0.4S")
        self.assertEqual(self.of_token("PATCH", got["token"], {"lockAtMostFor": "PT10M"}, 1).status, 200)
        self.until_past(400)
        self.assertFalse(self.java(peer, "lock", 600000, 0))

    def test_race__when_names_are_new__then_each_has_one_winner(self):
        names = 100
        told = [peer.tell("race", "first", self.name, names) for peer in self.peers]
        ours = [schedules.take(self.http, f"{self.name}:{n}").status == 201 for n in range(names)]
        theirs = [[c == "1" for c in one.wait().zfill(names)] for one in told]
        winners = [sum(each) for each in zip(ours, *theirs)]
        self.assertEqual(winners, [1] * names)

    def test_race__when_all_want_one__then_never_two_at_once(self):
        turns = 25
        told = [peer.tell("race", "work", self.name, turns) for peer in self.peers]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            ours = list(pool.map(lambda number: self.our_turns(number, turns), range(2)))
        spans = [span for one in ours for span in one]
        for one in told:
            spans += [tuple(map(int, text.split("-"))) for text in one.wait(60).split(",")]
        self.assertEqual(len(spans), turns * 5)
        spans.sort()
        for before, after in zip(spans, spans[1:]):
            self.assertLessEqual(before[1], after[0], "two were inside at once")

    def our_turns(self, number, turns):
        spans, http = [], self.client(number)
        path = f"/v1/schedules/{self.name}"
        while len(spans) < turns:
            reply = schedules.take(http, self.name, "PT10S")
            if reply.status != 201:
                continue
            begin = time.monotonic_ns()
            time.sleep(0.001)
            spans.append((begin, time.monotonic_ns()))
            http.request("DELETE", path, headers={"Lock-Token": reply.json["token"]})
        return spans


class ShedLockJob(ShedLockCase):
    """A job of ours and a Java method under one name."""

    INSTANCES = 0
    PEERS = ZONES[:1]
    JOB = "stockReservationSweepJob"

    def test_job__when_java_holds_its_name__then_it_skips_and_goes_on_afterwards(self):
        schedules.record(self.db)
        self.name = self.JOB
        self.assertTrue(self.java(self.peers[0], "lock", 600000, 0))
        env = {**schedules.only(self.JOB, "PT0.2S"), "LOCKSTOCK_REDIS_URL": ""}
        one = self.instance("a", env=env).start()
        eventually(lambda: one.metric("lockstock_job_skips_total", job=self.JOB) >= 5, 10, "rounds skipped")
        self.assertEqual(one.metric("lockstock_job_runs_total", job=self.JOB), 0)
        self.java(self.peers[0], "unlock")
        eventually(lambda: one.metric("lockstock_job_runs_total", job=self.JOB) >= 3, 10, "rounds run")
        eventually(lambda: self.java(self.peers[0], "lock", 600000, 0), 10, "Java has it again")
        before = one.metric("lockstock_job_runs_total", job=self.JOB)
        skips = one.metric("lockstock_job_skips_total", job=self.JOB)
        eventually(lambda: one.metric("lockstock_job_skips_total", job=self.JOB) >= skips + 3, 10, "skipped again")
        self.assertLessEqual(one.metric("lockstock_job_runs_total", job=self.JOB) - before, 1)


class ShedLockTimestamps(ShedLockCase):
    """The table as its documentation has it, on a server whose zone is Berlin's: the sessions of Java are there, ours is
    not."""

    INSTANCES = 0
    PEERS = (("Europe/Berlin", None),)

    @classmethod
    def migrate(cls):
        load_zones(cls.stack)
        cls.stack.mysql.admin("SET GLOBAL time_zone='Europe/Berlin'")
        cls.addClassCleanup(cls.stack.mysql.admin, "SET GLOBAL time_zone='SYSTEM'")
        cls.db.run(TIMESTAMPS)
        super().migrate()

    def try_ours(self, faults=None):
        one = self.instance("a", faults=faults, env=self.ENV).start()
        self.addCleanup(one.kill)
        client = one.http()
        self.addCleanup(client.close)
        return one, schedules.take(client, self.name)

    def test_zone__when_it_differs__then_ours_refuses_and_says_why(self):
        self.assertEqual(self.java(self.peers[0], "zones"), "Europe/Berlin Europe/Berlin")
        self.assertTrue(self.java(self.peers[0], "lock", 600000, 0))
        one, reply = self.try_ours()
        self.assertIn("cannot be trusted", self.assert_problem(reply, 503, "SYS-011")["detail"])
        line = one.log("schedule.table_refused")[0]
        self.assertEqual((line["serverZone"], line["sessionZone"]), ("Europe/Berlin", "+00:00"))
        self.assertIn("TIMESTAMP", line["why"])

    def test_zone__when_nobody_looks__then_ours_takes_what_java_holds(self):
        self.assertTrue(self.java(self.peers[0], "lock", 600000, 0))
        _, reply = self.try_ours("no-zone-check")
        self.assertEqual(reply.status, 201)


if __name__ == "__main__":
    main()
