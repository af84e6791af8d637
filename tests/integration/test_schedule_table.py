"""A table shedlock found in place: left as it is, looked at, used when its moments and names can be trusted, refused
with the reason when not. And servers that change."""

import concurrent.futures
import functools
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support import schedules  # pylint: disable=wrong-import-position
from support.case import Case, main
from support.relay import Relay
from support.stack import USER, Database, MySql
from support.wait import eventually

# As ShedLock's own documentation gives it.
TIMESTAMPS = ("CREATE TABLE shedlock(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP(3) NOT NULL,"
              " locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), locked_by VARCHAR(255) NOT NULL,"
              " PRIMARY KEY (name))")
DATETIMES = TIMESTAMPS.replace("TIMESTAMP(3) NOT", "DATETIME(3) NOT").replace(" DEFAULT CURRENT_TIMESTAMP(3)", "")


class TableCase(Case):
    INSTANCES = 0
    ENV = {"LOCKSTOCK_JOBS": "off", "LOCKSTOCK_REDIS_URL": ""}

    def found(self, table, faults=None, mysql_port=None, **env):
        """An instance on a fresh database in which this table stood before the migrations; self.http speaks to it."""
        type(self).db = self.stack.mysql.new_database()
        self.db.run(table)
        before = self.columns()
        self.migrate()
        self.assertEqual(self.columns(), before, "the table was changed")
        one = self.instance("a", faults=faults, env={**self.ENV, **env}, mysql_port=mysql_port).start()
        self.addCleanup(one.kill)
        self.http = one.http()
        self.addCleanup(self.http.close)
        return one

    def columns(self):
        return self.db.rows("SELECT COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME FROM information_schema.COLUMNS"
                            " WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME='shedlock' ORDER BY ORDINAL_POSITION")

    def server_zone(self, zone):
        before = self.db.value("SELECT @@global.time_zone") if self.db else "SYSTEM"
        self.stack.mysql.admin(f"SET GLOBAL time_zone='{zone}'")
        self.addCleanup(self.stack.mysql.admin, f"SET GLOBAL time_zone='{before}'")

    def lock_from(self, zone, name="nightly"):
        """As ShedLock does with usingDbTime, for five minutes, from a session of this time zone."""
        session = self.db.session(autocommit=True)
        self.addCleanup(session.close)
        with session.cursor() as cursor:
            cursor.execute(f"SET time_zone='{zone}'")
            cursor.execute("INSERT INTO shedlock VALUES (%s, TIMESTAMPADD(MICROSECOND, 300000000, UTC_TIMESTAMP(3)),"
                           " UTC_TIMESTAMP(3), 'java')", (name,))


class TimeZones(TableCase):
    def test_timestamp__when_the_servers_zone_is_not_utc__then_refused_and_said_why(self):
        self.server_zone("+01:00")
        one = self.found(TIMESTAMPS)
        self.lock_from("+01:00")
        for reply in (schedules.take(self.http, "nightly"), self.http.get("/v1/schedules"),
                      self.http.get("/v1/schedules/nightly")):
            self.assertIn("cannot be trusted", self.assert_problem(reply, 503, "SYS-011")["detail"])
        lines = one.log("schedule.table_refused")
        self.assertEqual(len(lines), 1, "one failure, one line")
        self.assertIn("DATETIME(3)", lines[0]["why"])
        self.assertEqual((lines[0]["serverZone"], lines[0]["sessionZone"]), ("+01:00", "+00:00"))
        self.db.run("ALTER TABLE shedlock MODIFY lock_until DATETIME(3) NOT NULL,"
                    " MODIFY locked_at DATETIME(3) NOT NULL")
        self.assertEqual(schedules.take(self.http, "other").status, 201)

    def test_timestamp__when_nobody_looks_at_the_zone__then_it_takes_what_another_holds(self):
        self.server_zone("+01:00")
        self.found(TIMESTAMPS, faults="no-zone-check")
        self.lock_from("+01:00")
        self.assertEqual(schedules.take(self.http, "nightly").status, 201)

    def test_timestamp__when_all_is_utc__then_used_and_warned(self):
        self.server_zone("+00:00")
        one = self.found(TIMESTAMPS)
        self.lock_from("+00:00")
        self.assert_problem(schedules.take(self.http, "nightly"), 423, "SCH-001", lockedBy="java")
        self.assertEqual(schedules.take(self.http, "other").status, 201)
        self.assertEqual(len(one.log("schedule.table_timestamp")), 1)

    def test_timestamp__when_a_row_shows_another_zone__then_refused(self):
        self.server_zone("+00:00")
        self.found(TIMESTAMPS)
        self.lock_from("-05:00")
        self.assert_problem(schedules.take(self.http, "nightly"), 503, "SYS-011")

    def test_datetime__when_sessions_differ__then_each_means_the_same(self):
        for zone in ("+01:00", "+09:00", "-05:00", "+00:00"):
            with self.subTest(zone=zone):
                self.server_zone(zone)
                self.found(DATETIMES)
                self.lock_from(zone)
                self.assert_problem(schedules.take(self.http, "nightly"), 423, "SCH-001", lockedBy="java")

    def test_datetime__when_a_row_is_ahead_of_the_database__then_warned_and_its_lock_honoured(self):
        one = self.found(DATETIMES)
        self.db.run("INSERT INTO shedlock VALUES ('nightly', UTC_TIMESTAMP(3) + INTERVAL 70 MINUTE,"
                    " UTC_TIMESTAMP(3) + INTERVAL 60 MINUTE, 'java')")
        self.assert_problem(schedules.take(self.http, "nightly"), 423, "SCH-001")
        self.assertEqual([line["rows"] for line in one.log("schedule.foreign_clock")], [1])

    def test_timestamp__when_without_a_fraction__then_used_and_warned(self):
        self.server_zone("+00:00")
        one = self.found(TIMESTAMPS.replace("(3)", "(0)"))
        self.assertEqual(schedules.take(self.http, "nightly", "PT10S").status, 201)
        self.assertEqual(schedules.take(self.http, "nightly").status, 423)
        self.assertEqual(len(one.log("schedule.table_coarse")), 1)


class Names(TableCase):
    def test_name__when_a_collation_takes_it_for_another__then_400_and_that_one_stays(self):
        collation = " CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
        self.found(DATETIMES.replace("name VARCHAR(64)", "name VARCHAR(64)" + collation))
        for there, asked in (("Nightly", "nightly"), ("weekly ", "weekly"), ("übung", "ubung")):
            with self.subTest(there=there):
                self.db.run("INSERT INTO shedlock VALUES (%s, '2000-01-01', '2000-01-01', 'java')", there)
                found = self.assert_problem(schedules.take(self.http, asked), 400, "SYS-003")
                self.assertEqual(found["errors"][0]["pointer"], "#/name")
                self.assertEqual(self.db.count("shedlock", "locked_by='java' AND BINARY name=BINARY %s", there), 1)
                self.assertFalse(self.http.get(f"/v1/schedules/{asked}").json["held"])

    def test_name__when_longer_than_the_column__then_400_and_nothing_left(self):
        self.found(DATETIMES.replace("VARCHAR(64)", "VARCHAR(10)"))
        found = self.assert_problem(schedules.take(self.http, "n" * 11), 400, "SYS-003")
        self.assertEqual(found["errors"][0]["pointer"], "#/name")
        self.assertEqual(self.db.count("shedlock"), 0)
        self.assertEqual(schedules.take(self.http, "n" * 10).status, 201)

    def test_lockedby__when_longer_than_the_column__then_400_and_nothing_left(self):
        self.found(DATETIMES.replace("VARCHAR(255)", "VARCHAR(40)"))
        self.assert_problem(schedules.take(self.http, "nightly", by="p" * 8), 400, "SYS-003")
        self.assertEqual(self.db.count("shedlock"), 0)
        self.assertEqual(schedules.take(self.http, "nightly", by="p" * 7).status, 201)

    def test_table__when_the_name_is_not_unique__then_refused(self):
        for keys in ("PRIMARY KEY (name, locked_by)", "KEY (name)"):
            with self.subTest(keys=keys):
                one = self.found(DATETIMES.replace("PRIMARY KEY (name)", keys))
                self.assert_problem(schedules.take(self.http, "nightly"), 503, "SYS-011")
                self.assertEqual([line["why"] for line in one.log("schedule.table_refused")], ["name is not unique"])

    def test_table__when_a_column_is_missing_or_no_moment__then_refused(self):
        for old, new in (("locked_by", "holder"), ("lock_until DATETIME(3)", "lock_until BIGINT")):
            table = DATETIMES.replace(old, new)
            with self.subTest(table=table):
                self.found(table)
                self.assert_problem(schedules.take(self.http, "nightly"), 503, "SYS-011")


class Failover(TableCase):
    GUARD = {"LOCKSTOCK_SCHEDULES_GUARD": "PT1.5S"}

    def read_only_for_a_moment(self):
        self.addCleanup(self.stack.mysql.admin, "SET GLOBAL read_only=0")
        self.stack.mysql.admin("SET GLOBAL read_only=1")
        self.assert_problem(schedules.take(self.http, "nightly"), 503, "SYS-011")
        self.stack.mysql.admin("SET GLOBAL read_only=0")

    def test_read_only__when_it_was__then_no_lock_for_the_guard_period_and_then_again(self):
        one = self.found(DATETIMES, **self.GUARD)
        held = schedules.take(self.http, "held").json
        self.read_only_for_a_moment()
        self.assert_problem(schedules.take(self.http, "nightly"), 503, "SYS-011")
        reply = self.http.request("DELETE", "/v1/schedules/held", headers={"Lock-Token": held["token"]})
        self.assertEqual(reply.status, 204, "what is held may be released meanwhile")
        eventually(lambda: schedules.take(self.http, "nightly").status == 201, 10, "given again")
        self.assertEqual(len(one.log("schedule.guard")), 1)

    def test_read_only__when_the_guard_is_taken_out__then_a_lock_at_once(self):
        self.found(DATETIMES, faults="no-schedule-guard", **self.GUARD)
        self.read_only_for_a_moment()
        self.assertEqual(schedules.take(self.http, "nightly").status, 201)

    @classmethod
    @functools.cache
    def second(cls):
        server = MySql(os.path.join(cls.stack.folder, "second"))
        os.makedirs(os.path.dirname(server.folder))
        server.initialise()
        cls.addClassCleanup(server.kill)
        return server.start()

    def promoted(self, faults=None):
        """Our connections lead to another server, which lacks the lock that was taken on the first."""
        second = self.second()
        relay = Relay(self.stack.mysql.port)
        self.addCleanup(relay.close)
        one = self.found(DATETIMES, faults=faults, mysql_port=relay.port, **self.GUARD)
        self.assertEqual(schedules.take(self.http, "nightly").status, 201)
        first, type(self).db = self.db, Database(second, self.db.name)
        second.admin(f"CREATE DATABASE {first.name}",
                     f"CREATE USER IF NOT EXISTS '{USER}'@'127.0.0.1' IDENTIFIED BY '{second.password}'",
                     f"GRANT ALL ON {first.name}.* TO '{USER}'@'127.0.0.1'")
        self.migrate()
        relay.retarget(second.port)
        eventually(lambda: self.http.get("/v1/schedules").status == 200, 20, "the other server answers")
        return one

    def test_server__when_another_answers__then_no_lock_for_the_guard_period_and_then_again(self):
        one = self.promoted()
        self.assert_problem(schedules.take(self.http, "nightly"), 503, "SYS-011")
        self.assertEqual(one.log("schedule.guard")[0]["why"], "the connection leads to another server")
        eventually(lambda: schedules.take(self.http, "nightly").status == 201, 10, "given again")

    def test_server__when_the_guard_is_taken_out__then_a_lock_that_is_held_is_given_again(self):
        self.promoted("no-schedule-guard")
        self.assertEqual(schedules.take(self.http, "nightly").status, 201)

    def test_put__when_its_answer_is_lost__then_found_to_be_done_and_granted_once(self):
        relay = Relay(self.stack.mysql.port)
        self.addCleanup(relay.close)
        self.found(DATETIMES, mysql_port=relay.port)
        schedules.record(self.db)
        self.db.run("INSERT INTO shedlock VALUES ('nightly', '2000-01-01', '2000-01-01', 'nobody')")
        session = self.db.session()
        self.addCleanup(session.close)
        with session.cursor() as cursor:
            cursor.execute("SELECT * FROM shedlock WHERE name='nightly' FOR UPDATE")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            told = pool.submit(schedules.take, self.http, "nightly")
            eventually(lambda: self.row_waits() > 0, 5, "the statement is on its way")
            relay.cut()
            session.rollback()
            eventually(lambda: len(schedules.grants(self.db, "nightly")) == 2, 5, "done, and nobody knows")
            relay.retarget(self.stack.mysql.port)
            relay.heal()
            reply = told.result(20)
        self.assertEqual(reply.status, 201, reply)
        self.assertEqual(len(schedules.grants(self.db, "nightly")), 2, "the row that was there, and one grant")
        held = {"Lock-Token": reply.json["token"]}
        self.assertEqual(self.http.request("DELETE", "/v1/schedules/nightly", headers=held).status, 204)

    def test_mysql__when_away__then_503_and_not_locked(self):
        self.found(DATETIMES)
        self.addCleanup(self.stack.heal)
        self.stack.mysql.stop()
        for method, body in (("PUT", {"lockAtMostFor": "PT1S"}), ("PATCH", {"lockAtMostFor": "PT1S"}), ("DELETE", None),
                             ("GET", None)):
            reply = self.http.request(method, "/v1/schedules/nightly", body, headers={"Lock-Token": "0" * 32 + "-0"})
            self.assert_problem(reply, 503, "SYS-011")
            self.assertIn("retry-after", reply.headers)
        self.stack.mysql.start()
        eventually(lambda: schedules.take(self.http, "nightly").status == 201, 20, "given again")


if __name__ == "__main__":
    main()
