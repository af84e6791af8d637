"""What the tests of schedules share: every change of the table shedlock, written down by the database itself."""

import os
import threading

from .service import binary
from .wait import eventually

HISTORY = """CREATE TABLE schedule_history (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(64) NOT NULL,
 locked_at DATETIME(3) NOT NULL, lock_until DATETIME(3) NOT NULL, locked_by VARCHAR(255) NOT NULL,
 old_until DATETIME(3) NULL, old_by VARCHAR(255) NULL)"""
ON_INSERT = """CREATE TRIGGER shedlock_ai AFTER INSERT ON shedlock FOR EACH ROW INSERT INTO schedule_history
 (name, locked_at, lock_until, locked_by) VALUES (NEW.name, NEW.locked_at, NEW.lock_until, NEW.locked_by)"""
ON_UPDATE = """CREATE TRIGGER shedlock_au AFTER UPDATE ON shedlock FOR EACH ROW INSERT INTO schedule_history
 (name, locked_at, lock_until, locked_by, old_until, old_by) VALUES
 (NEW.name, NEW.locked_at, NEW.lock_until, NEW.locked_by, OLD.lock_until, OLD.locked_by)"""
COLUMNS = ", ".join(f"CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {c}) DIV 1000 AS SIGNED) AS {c}"
                    for c in ("locked_at", "lock_until", "old_until"))
JOBS = ("orderTimeoutCancelJob", "orderReservationExpiryJob", "stockReservationSweepJob", "outboxPollingJob",
        "paymentReconcileJob", "retentionJob")
MARK = 32  # hex digits at the end of locked_by; before them # while held and ~ when released


def record(db):
    """From now on every change is kept."""
    for sql in (HISTORY, ON_INSERT, ON_UPDATE):
        db.run(sql)


class Change:
    """One row of the history; times are Unix milliseconds of the database's clock."""

    def __init__(self, row):
        self.name, self.at, self.until = row["name"], row["locked_at"], row["lock_until"]
        self.by, self.old_by, self.old_until = row["locked_by"], row["old_by"], row["old_until"]

    @property
    def grant_id(self):
        return self.by[-MARK:]

    @property
    def instance(self):
        return self.by[:-MARK - 1]

    @property
    def is_grant(self):
        return self.old_by is None or self.old_by[-MARK:] != self.grant_id

    @property
    def is_release(self):
        return not self.is_grant and self.by[-MARK - 1] == "~"

    @property
    def took_over(self):
        """A grant while the one before had not been released."""
        return self.is_grant and self.old_by is not None and self.old_by[-MARK - 1] == "#"

    def __repr__(self):
        return f"<{self.name} {self.by} {self.at}..{self.until}>"


def changes(db, name):
    rows = db.rows(f"SELECT id, name, locked_by, old_by, {COLUMNS} FROM schedule_history WHERE name=%s ORDER BY id", name)
    return [Change(row) for row in rows]


def grants(db, name):
    return [change for change in changes(db, name) if change.is_grant]


def by_round(found, every_ms):
    """{begin of a round: its grants}"""
    rounds = {}
    for grant in found:
        rounds.setdefault(grant.at - grant.at % every_ms, []).append(grant)
    return rounds


def missing(rounds, every_ms):
    """Begins of rounds between the first and the last in which nobody ran."""
    return [r for r in range(min(rounds), max(rounds), every_ms) if r not in rounds] if rounds else []


class Witness:
    """Asks the database for its time again and again: a machine that stood still for a moment shows as a gap."""

    def __init__(self, db):
        self._session, self._over, self._seen = db.session(autocommit=True), threading.Event(), []
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self):
        with self._session.cursor() as cursor:
            while not self._over.wait(0.005):
                cursor.execute("SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 AS now")
                self._seen.append(int(cursor.fetchone()["now"]))

    def stop(self):
        self._over.set()
        self._thread.join()
        self._session.close()

    def stood_still(self, begin, end, least_ms):
        """A gap of so many milliseconds that lies in this time, at least in part."""
        return any(b - a >= least_ms and a < end and b > begin for a, b in zip(self._seen, self._seen[1:]))


def until_rounds(db, name, every_ms, count, timeout_s):
    """Grants of all rounds once so many were seen; the last round may still go on and is left out."""
    def enough():
        rounds = by_round(grants(db, name), every_ms)
        return rounds if len(rounds) > count else None
    rounds = eventually(enough, timeout_s, f"{count} rounds of {name}")
    del rounds[max(rounds)]
    return rounds


def only(job, text):
    """Settings under which this one of our jobs runs, with this period."""
    return {**{name: "PT0S" for other in JOBS for name in period(other, "")}, **period(job, text)}


def hour_ahead():
    """Environment of a program whose wall clock is an hour ahead."""
    library = os.path.join(os.path.dirname(binary(True)), "libwall_shift.so")
    if not os.path.exists(library):
        raise RuntimeError(f"{library}: no such library; build the target wall_shift")
    return {"LD_PRELOAD": library, "WALL_SHIFT_S": 3600, "ASAN_OPTIONS": "verify_asan_link_order=0"}


def period(job, text):
    """The setting of a job's period: {environment name: ISO-8601}."""
    words = "".join("_" + c if c.isupper() else c.upper() for c in job)
    return {f"LOCKSTOCK_JOB_{words}_EVERY": text}


def take(http, name, at_most="PT10M", at_least="PT0S", by=None, **kw):
    """PUT /v1/schedules/{name}"""
    body = {"lockAtMostFor": at_most, "lockAtLeastFor": at_least}
    if by is not None:
        body["lockedBy"] = by
    return http.put(f"/v1/schedules/{name}", body, **kw)
