"""`lockstock run`: a command under a lock. It ends before anybody else can be granted, whatever hangs."""

import hashlib
import json
import os
import pty
import re
import secrets
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.locks import LockCase
from support.semaphores import permits_key
from support.runner import EARS, Heart, Runner, argv, run, settings
from support.wait import eventually, free_port

TTL_MS = 2000
GRACE_MS = 300
SHORT = {"ttl": TTL_MS, "grace": GRACE_MS}
STATUS_USAGE, STATUS_NOT_HAD, STATUS_LOST, STATUS_FORBIDDEN = 64, 69, 70, 77


class RunCase(LockCase):

    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(dir=self.stack.folder)
        self.port = self.service.port if self.service else 0

    def run_to_end(self, name, command, **options):
        return run(self.port, name, command, **options)

    def shell(self, name, script, **options):
        return self.run_to_end(name, ["sh", "-c", script], **options)

    def runner(self, name, command, **options):
        one = Runner(self.stack, options.pop("port", self.port), name, command, **options)
        self.addCleanup(one.process.kill)
        return one.start()

    def beating(self, name, stubborn=False, life_s=60, **options):
        """A runner whose command beats, and its heart."""
        heart = Heart(self.folder, secrets.token_hex(4), stubborn, life_s)
        one = self.runner(name, heart.command, **{**SHORT, **options})
        heart.until_beating()
        return one, heart

    def is_held(self, name):
        return bool(self.redis.call("EXISTS", name))

    def gone_at(self, name, timeout_s=15):
        """The moment at which the key is seen to be gone: from then on somebody else can be granted."""
        redis, end = self.redis.client(), time.monotonic() + timeout_s
        try:
            while time.monotonic() < end:
                if not redis.call("EXISTS", name):
                    return time.monotonic()
        finally:
            redis.close()
        raise AssertionError("the key stays")


class Command(RunCase):

    def test_status__when_command_ends__then_passed_through_and_released(self):
        for script, status in (("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -TERM $$", 128 + 15),
                               ("kill -KILL $$", 128 + 9)):
            name = self.name()
            with self.subTest(script=script):
                done = self.shell(name, script)
                self.assertEqual((done.returncode, done.stderr), (status, ""))
                self.assertFalse(self.is_held(name))

    def test_command__when_it_cannot_be_run__then_127_or_126_and_released(self):
        plain = os.path.join(self.folder, "plain")
        with open(plain, "w", encoding="utf-8") as file:
            file.write("no program")
        for command, status in (("/no/such/thing", 127), ("no-such-thing-anywhere", 127), (plain, 126)):
            name = self.name()
            with self.subTest(command=command):
                done = self.run_to_end(name, [command])
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(command, done.stderr)
                self.assertFalse(self.is_held(name))

    def test_environment__then_name_fence_and_token_that_hold(self):
        name = self.name()
        done = self.shell(name, 'printf "%s\\n" "$LOCKSTOCK_NAME" "$LOCKSTOCK_FENCE" "$LOCKSTOCK_TOKEN";'
                                f' curl -sS -o /dev/null -w "%{{http_code}}" -X PATCH -H "Lock-Token: $LOCKSTOCK_TOKEN"'
                                f' "$LOCKSTOCK_URL{self.path(name)}?fence=$LOCKSTOCK_FENCE"',
                          env={"LOCKSTOCK_FENCE": "stale"})
        lines = done.stdout.split("\n")
        self.assertEqual((lines[0], lines[3]), (name, "200"), done)
        self.assertGreater(int(lines[1]), 2 ** 32)
        self.assertEqual(len(lines[2]), 32)

    def test_fence__when_run_again__then_grows(self):
        name = self.name()
        fences = [int(self.shell(name, "echo $LOCKSTOCK_FENCE").stdout) for _ in range(3)]
        self.assertEqual(fences, sorted(set(fences)))

    def test_lease__when_command_runs_longer__then_renewed(self):
        name = self.name()
        one, heart = self.beating(name, life_s=2.5 * TTL_MS / 1000)
        begun = time.monotonic()
        while one.alive() and time.monotonic() - begun < 2.2 * TTL_MS / 1000:
            self.assertTrue(self.is_held(name))
            time.sleep(0.01)
        self.assertEqual((one.status(), one.text()), (0, ""))
        self.assertGreater(heart.last_beat() - begun, 2.2 * TTL_MS / 1000)
        self.assertFalse(self.is_held(name))

    def test_streams__then_the_commands_own(self):
        done = subprocess.run(argv(self.name(), ["sh", "-c", "cat; echo err >&2"]), input="in", capture_output=True,
                              env=settings(self.port), text=True, timeout=30, check=False)
        self.assertEqual((done.stdout, done.stderr), ("in", "err\n"))

    def test_leftovers__when_the_command_has_ended__then_ended_before_the_release(self):
        name = self.name()
        heart = Heart(self.folder, "left", stubborn=True)
        begun = time.monotonic()
        one = self.runner(name, ["sh", "-c", '"$@" & while [ ! -s "$0" ]; do :; done; exit 3', heart.path,
                                 *heart.command], **SHORT)
        gone = self.gone_at_after_held(name)
        self.assertEqual(one.status(), 3)
        self.assertGreater(heart.last_beat(), begun)
        self.assertLess(heart.last_beat(), gone)
        self.assertLess(time.monotonic() - begun, 10)

    def test_leftovers__when_in_a_group_of_their_own__then_ended_and_in_a_session_of_their_own__then_not(self):
        apart, away = Heart(self.folder, "apart", stubborn=True), Heart(self.folder, "away", life_s=3)
        script = (f'timeout 60 {" ".join(map(shlex.quote, apart.command))} &'
                  f' setsid {" ".join(map(shlex.quote, away.command))} &'
                  f' while [ ! -s {apart.path} ] || [ ! -s {away.path} ]; do :; done')
        one = self.runner(self.name(), ["sh", "-c", script], **SHORT)
        self.assertEqual(one.status(), 0)
        ended = time.monotonic()
        self.assertLess(apart.last_beat(), ended)
        eventually(lambda: away.last_beat() > ended + 0.2, 5, "the daemon lives")
        self.assertLess(apart.last_beat(), ended)

    def gone_at_after_held(self, name):
        eventually(lambda: self.is_held(name), 10, "held")
        return self.gone_at(name)

    def test_usage__when_wrong__then_64_and_nothing_runs(self):
        for words in ([], ["--", "true"], ["x"], ["x", "--"], ["x", "y", "--", "true"], ["x", "--ttl", "--", "true"],
                      ["x", "--ttl", "5", "--", "true"], ["x", "--ttl", "1y", "--", "true"],
                      ["x", "--colour=red", "--", "true"], ["x", "--url", "ftp://h", "--", "true"],
                      ["x", "--url", "http://u:p@h/", "--", "true"], ["x", "--grace", "16s", "--", "true"],
                      ["x", "--limit", "2", "--", "true"], ["x", "--kind", "semaphore", "--weight", "0", "--", "true"]):
            with self.subTest(words=words):
                done = subprocess.run([argv("", [])[0], "run", *words], env=settings(self.port), capture_output=True,
                                      text=True, timeout=10, check=False)
                self.assertEqual(done.returncode, STATUS_USAGE)
                self.assertRegex(done.stderr, r"^lockstock run: .*--help\)\n$")

    def test_name__when_the_service_refuses_it__then_64_with_its_reason(self):
        done = self.shell("a{b", "echo ran")
        self.assertEqual((done.returncode, done.stdout), (STATUS_USAGE, ""))
        self.assertIn("SYS-003", done.stderr)

    def test_names__when_odd__then_taken_verbatim(self):
        for name in ("a/b", "a b?c#d", "käse", "..", "100%"):
            with self.subTest(name=name):
                done = self.shell(name, 'printf %s "$LOCKSTOCK_NAME"')
                self.assertEqual((done.returncode, done.stdout), (0, name), done)

    def test_help__then_every_own_status_is_named(self):
        done = subprocess.run([argv("", [])[0], "run", "--help"], capture_output=True, text=True, timeout=10, check=True)
        for status in (64, 69, 70, 71, 77, 126, 127):
            self.assertRegex(done.stdout, rf"(?m)^  {status} ")

    def test_command__when_it_is_the_binary_itself__then_its_settings_do_not_mind(self):
        done = self.run_to_end(self.name(), [argv("", [])[0], "migrate"],
                               env={"LOCKSTOCK_MYSQL_URL": self.db.url(), "LOCKSTOCK_TOKEN_FILE": None})
        self.assertEqual(done.returncode, 0, done)


class Taking(RunCase):

    def test_held__when_no_wait__then_69_and_the_holder_is_named(self):
        name = self.name()
        self.held(name, owner="first-one")
        done = self.shell(name, "echo ran")
        self.assertEqual((done.returncode, done.stdout), (STATUS_NOT_HAD, ""))
        self.assertIn("held by first-one", done.stderr)

    def test_wait__when_released_in_time__then_runs(self):
        name = self.name()
        grant = self.held(name)
        one = self.runner(name, ["true"], wait="20s")
        eventually(lambda: self.http.get(self.path(name)).json["waiters"] == 1, 10, "it waits")
        self.let_go(grant)
        self.assertEqual(one.status(), 0, one.text())

    def test_wait__when_longer_than_the_lease__then_the_command_still_has_a_whole_one(self):
        name = self.name()
        grant = self.held(name)
        one = self.runner(name, ["sleep", "1.2"], wait="20s", ttl="1s")
        eventually(lambda: self.http.get(self.path(name)).json["waiters"] == 1, 10, "it waits")
        time.sleep(1.5)
        self.let_go(grant)
        self.assertEqual(one.status(), 0, one.text())

    def test_wait__when_over__then_69_and_nobody_waits_any_more(self):
        name = self.name()
        self.held(name)
        begun = time.monotonic()
        done = self.shell(name, "echo ran", wait="700ms")
        self.assertEqual((done.returncode, done.stdout), (STATUS_NOT_HAD, ""))
        self.assertTrue(0.7 <= time.monotonic() - begun < 5)
        eventually(lambda: self.http.get(self.path(name)).json["waiters"] == 0, 5, "nobody waits")

    def test_wait__when_longer_than_a_slice__then_its_place_is_kept(self):
        name = self.name()
        grant = self.held(name, ttlMs=60000)
        one = self.runner(name, ["true"], wait="60s")
        eventually(lambda: self.http.get(self.path(name)).json["waiters"] == 1, 10, "it waits")
        time.sleep(21)
        eventually(lambda: self.http.get(self.path(name)).json["waiters"] == 1, 5, "it still waits")
        self.let_go(grant)
        self.assertEqual((one.status(), one.text()), (0, ""))

    def test_signal__when_waiting__then_128_and_the_place_is_free(self):
        name = self.name()
        grant = self.held(name)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            one = self.runner(name, ["true"], wait="60s")
            eventually(lambda: self.http.get(self.path(name)).json["waiters"] == 1, 10, "it waits")
            one.signal(number)
            self.assertEqual(one.status(5), 128 + number)
            eventually(lambda: self.http.get(self.path(name)).json["waiters"] == 0, 5, "nobody waits")
        self.let_go(grant)
        self.assertFalse(self.is_held(name))

    def test_two__when_on_one_name__then_never_at_once_and_fences_grow(self):
        name, path = self.name(), os.path.join(self.folder, "counter")
        with open(path, "w", encoding="utf-8") as file:
            file.write("0\n")
        script = 'read n <"$0"; sleep 0.05; echo $((n + 1)) >"$0"; echo "$LOCKSTOCK_FENCE" >>"$0.fences"'
        runners = [self.runner(name, ["sh", "-c", script, path], wait="60s") for _ in range(6)]
        self.assertEqual([one.status() for one in runners], [0] * 6, [one.text() for one in runners])
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "6\n")
        with open(path + ".fences", encoding="utf-8") as file:
            fences = [int(line) for line in file]
        self.assertEqual(fences, sorted(set(fences)))

    def test_service__when_away_at_first__then_it_goes_on_trying(self):
        one = self.runner(self.name(), ["true"], port=free_port())
        self.assertEqual(one.status(), STATUS_NOT_HAD)
        late = self.instance("late")
        late.start()
        late.stop()
        two = self.runner(self.name(), ["true"], port=late.port, wait="30s")
        eventually(lambda: "trying again" in two.text(), 5, "it says so")
        late.start()
        self.assertEqual(two.status(), 0, two.text())

    def test_service__when_it_hangs__then_69_within_seconds(self):
        self.service._process.freeze()  # pylint: disable=protected-access
        self.addCleanup(self.service._process.thaw)  # pylint: disable=protected-access
        begun = time.monotonic()
        done = self.shell(self.name(), "echo ran", wait="1s")
        self.assertEqual((done.returncode, done.stdout), (STATUS_NOT_HAD, ""), done)
        self.assertLess(time.monotonic() - begun, 16)


class Signals(RunCase):

    def listening(self):
        path = os.path.join(self.folder, "ears")
        one = self.runner(self.name(), [sys.executable, "-c", EARS, path], ttl="10s")
        eventually(lambda: "ready" in self.words_of(path), 10, "it listens")
        return one, lambda: self.words_of(path)

    @staticmethod
    def words_of(path):
        try:
            with open(path, encoding="utf-8") as file:
                return file.read().split()
        except FileNotFoundError:
            return []

    def test_signals__when_sent__then_the_command_has_them(self):
        one, heard = self.listening()
        for name in ("SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGTERM"):
            one.signal(getattr(signal, name))
            eventually(lambda: name in heard(), 5, name)  # pylint: disable=cell-var-from-loop
        self.assertTrue(one.alive())

    def test_term__when_the_command_does_not_catch_it__then_143_and_released(self):
        name = self.name()
        one, _ = self.beating(name)
        one.signal(signal.SIGTERM)
        self.assertEqual(one.status(5), 143)
        self.assertFalse(self.is_held(name))

    def test_hup__when_ignored_from_the_start__then_nobody_minds(self):
        one, heart = self.beating(self.name(), wrap=("nohup",))
        one.signal(signal.SIGHUP)
        time.sleep(0.2)
        self.assertTrue(one.alive())
        self.assertLess(time.monotonic() - heart.last_beat(), 0.1)

    def test_usr1__when_the_command_has_helpers__then_they_do_not_get_it(self):
        path = os.path.join(self.folder, "said")
        script = 'trap "echo usr1 >\\"$0\\"" USR1; sleep 1 & wait $!; wait $!; echo "helper $?" >>"$0"'
        one = self.runner(self.name(), ["sh", "-c", script, path], ttl="10s")
        time.sleep(0.3)
        one.signal(signal.SIGUSR1)
        one.status(10)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "usr1\nhelper 0\n")


class Terminal(RunCase):
    """On a terminal: keys go to the command."""

    def on_terminal(self, words):
        pid, master = pty.fork()
        if pid == 0:
            os.execvpe(words[0], words, {**settings(self.port), "PS1": "$ ", "TERM": "dumb"})
        self.addCleanup(os.close, master)
        self.addCleanup(self.end, pid)
        self.seen = ""
        return pid, master

    @staticmethod
    def end(pid):
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass

    def until_seen(self, master, pattern, timeout_s=10):
        end = time.monotonic() + timeout_s
        while not re.search(pattern, self.seen):
            if time.monotonic() > end:
                raise AssertionError(f"{pattern} not in {self.seen!r}")
            if select.select([master], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(master, 4096).decode(errors="replace")
                except OSError:
                    time.sleep(0.01)

    def test_interrupt__when_typed__then_130(self):
        name = self.name()
        pid, master = self.on_terminal(argv(name, ["sh", "-c", "read x; echo got $x; read y"]))
        eventually(lambda: self.is_held(name), 10, "held")
        os.write(master, b"hello\n")
        self.until_seen(master, "got hello")
        os.write(master, b"\x03")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 130)
        self.assertFalse(self.is_held(name))

    def test_stop__when_continued_in_time__then_goes_on_and_in_vain_when_too_late(self):
        name = self.name()
        _, master = self.on_terminal(["bash", "--norc", "--noprofile", "-i"])
        words = argv(name, ["sh", "-c", "echo started; read x; echo got-$x; read y; echo never"], ttl="3s", grace="500")
        os.write(master, (" ".join(f"'{word}'" for word in words) + "\n").encode())
        self.until_seen(master, r"\nstarted")
        os.write(master, b"\x1a")
        self.until_seen(master, r"Stopped")
        os.write(master, b"fg\n")
        time.sleep(0.2)
        os.write(master, b"one\n")
        self.until_seen(master, r"\ngot-one")
        self.seen = ""
        os.write(master, b"\x1a")
        self.until_seen(master, r"Stopped")
        eventually(lambda: not self.is_held(name), 10, "the lease ends")
        self.until_seen(master, "ending the command")
        os.write(master, b"jobs\n")
        self.until_seen(master, rf"Exit {STATUS_LOST} ")
        os.write(master, b"echo shell-$((40 + 2))\n")
        self.until_seen(master, "shell-42")  # the terminal is still the shell's
        self.assertNotIn("\nnever", self.seen)


class Kinds(RunCase):
    """What the other kinds allow beside each other, and what they do not."""

    def permits(self, name, limit=2, **options):
        return self.beating(name, kind="semaphore", limit=limit, **options)

    def available(self, name):
        return self.http.get("/v1/semaphores/" + self.path(name).rsplit("/", 1)[1]).json["available"]

    def end(self, *runners):
        for one in runners:
            one.signal(signal.SIGTERM)
            self.assertEqual(one.status(10), 143, one.text())

    def over_at(self, name):
        """The moment from which somebody else can have the permit."""
        ends_ms = float(self.redis.call("ZRANGE", permits_key(name), 0, -1, "WITHSCORES")[1])
        seconds, micros = self.redis.call("TIME")
        return time.monotonic() + (ends_ms - int(seconds) * 1000 - int(micros) / 1000) / 1000

    def test_semaphore__when_as_many_as_permits__then_side_by_side_and_the_next_waits(self):
        name = self.name()
        first, _ = self.permits(name)
        second, heart = self.permits(name)
        done = self.shell(name, "echo ran", kind="semaphore", limit=2)
        self.assertEqual((done.returncode, done.stdout), (STATUS_NOT_HAD, ""))
        third = self.runner(name, ["sh", "-c", 'echo "$LOCKSTOCK_FENCE"'], kind="semaphore", wait="20s")
        self.until_waiting("/v1/semaphores/", name, 1)
        self.assertLess(time.monotonic() - heart.last_beat(), 0.5)
        self.end(first)
        self.assertEqual(third.status(), 0, third.text())
        self.assertGreater(int(third.text()), 2 ** 32)
        self.end(second)
        self.assertEqual(self.available(name), 2)

    def test_semaphore__when_it_weighs_more__then_so_many_permits(self):
        name = self.name()
        one, _ = self.permits(name, limit=3, weight=2)
        self.assertEqual(self.available(name), 1)
        self.assertEqual(self.shell(name, "true", kind="semaphore", weight=2).returncode, STATUS_NOT_HAD)
        self.assertEqual(self.shell(name, "true", kind="semaphore").returncode, 0)
        self.end(one)
        self.assertEqual(self.shell(name, "true", kind="semaphore", weight=3).returncode, 0)

    def test_semaphore__when_it_has_no_such_size__then_64_with_the_reason(self):
        name = self.name()
        for options, words in (({}, "give a limit"), ({"limit": 2}, None), ({"limit": 3}, "has 2 permits")):
            with self.subTest(options=options):
                done = self.shell(name, "echo ran", kind="semaphore", **options)
                self.assertEqual((done.returncode, done.stdout), (STATUS_USAGE, "") if words else (0, "ran\n"), done)
                self.assertIn(words or "", done.stderr)

    def test_semaphore__when_the_command_runs_longer__then_renewed_and_when_taken_away__then_70(self):
        name = self.name()
        one, heart = self.permits(name)
        time.sleep(1.5 * TTL_MS / 1000)
        self.assertEqual(self.available(name), 1)
        self.assertLess(time.monotonic() - heart.last_beat(), 0.5)
        self.redis.call("DEL", permits_key(name))
        self.assertEqual(one.status(), STATUS_LOST, one.text())
        heart.until_dead()

    def test_semaphore__when_the_service_freezes__then_dead_before_the_lease_ends(self):
        name = self.name()
        one, heart = self.permits(name, stubborn=True)
        self.service._process.freeze()  # pylint: disable=protected-access
        self.addCleanup(self.service._process.thaw)  # pylint: disable=protected-access
        over = self.over_at(name)
        self.assertLess(heart.until_dead(), over)
        self.assertEqual(one.status(), STATUS_LOST, one.text())

    def test_fair__when_several_wait__then_in_the_order_they_came(self):
        name, path = self.name(), os.path.join(self.folder, "order")
        grant = self.held(name, kind="fair")
        runners = []
        for number in range(3):
            runners.append(self.runner(name, ["sh", "-c", f'echo {number} "$LOCKSTOCK_FENCE" >>"$0"', path], kind="fair",
                                       wait="30s"))
            self.until_waiting("/v1/locks/", name, number + 1)
        self.let_go(grant)
        self.assertEqual([one.status() for one in runners], [0, 0, 0], [one.text() for one in runners])
        with open(path, encoding="utf-8") as file:
            rows = [[int(word) for word in line.split()] for line in file]
        self.assertEqual([row[0] for row in rows], [0, 1, 2])
        self.assertEqual([row[1] for row in rows], sorted({row[1] for row in rows}))

    def test_rw__when_they_read__then_side_by_side_and_a_writer_alone(self):
        name = self.name()
        first, _ = self.beating(name, kind="rw", mode="shared")
        second, heart = self.beating(name, kind="rw", mode="shared")
        self.assertEqual(self.shell(name, "true", kind="rw").returncode, STATUS_NOT_HAD)
        writer = self.runner(name, ["true"], kind="rw", mode="exclusive", wait="20s")
        self.until_waiting("/v1/locks/", name, 1)
        self.end(first)
        self.assertTrue(writer.alive())
        self.assertLess(time.monotonic() - heart.last_beat(), 0.5)
        self.end(second)
        self.assertEqual(writer.status(), 0, writer.text())
        alone, _ = self.beating(name, kind="rw")
        self.assertEqual(self.shell(name, "true", kind="rw", mode="shared").returncode, STATUS_NOT_HAD)
        self.end(alone)

    def test_kind__when_the_name_is_of_another__then_64(self):
        name = self.name()
        self.held(name)
        for kind in ("fair", "rw", "semaphore"):
            with self.subTest(kind=kind):
                options = {"limit": 2} if kind == "semaphore" else {}
                done = self.shell(name, "echo ran", kind=kind, **options)
                self.assertEqual((done.returncode, done.stdout), (STATUS_USAGE, ""), done)
                self.assertIn("LCK-005", done.stderr)

    def until_waiting(self, base, name, count):
        path = base + self.path(name).rsplit("/", 1)[1]
        eventually(lambda: self.http.get(path).json["waiters"] == count, 10, f"{count} wait")


class Loss(RunCase):

    def setUp(self):
        super().setUp()
        self.until_ready()

    def test_key__when_deleted__then_command_ended_at_the_next_renewal_and_70(self):
        name = self.name()
        one, heart = self.beating(name, stubborn=True)
        begun = time.monotonic()
        self.redis.call("DEL", name)
        self.assertEqual(one.status(), STATUS_LOST, one.text())
        self.assertLess(heart.until_dead() - begun, TTL_MS / 3000 + 1)
        self.assertIn("lost", one.text())

    def test_lock__when_forced__then_command_ended_and_70(self):
        name = self.name()
        one, heart = self.beating(name)
        reply = self.http.request("DELETE", self.path(name) + "?force=true&reason=test")
        self.assertEqual(reply.status, 204, reply)
        self.assertEqual(one.status(), STATUS_LOST, one.text())
        heart.until_dead()

    def test_key__when_deleted_and_the_command_ends_first__then_70_all_the_same(self):
        name = self.name()
        done = self.shell(name, f"redis-cli -p {self.redis.port} DEL '{name}'", ttl="60s")
        self.assertEqual(done.returncode, STATUS_LOST, done)

    def test_errors__when_short__then_the_command_goes_on(self):
        name = self.name()
        one, heart = self.beating(name, ttl="6s", life_s=6)
        self.redis.freeze()
        self.addCleanup(self.redis.thaw)
        eventually(lambda: "not renewed" in one.text(), 10, "a renewal failed")
        self.redis.thaw()
        eventually(lambda: ": renewed" in one.text(), 10, "one went well")
        self.assertEqual(one.status(), 0, one.text())
        self.assertTrue(heart.last_beat())

    def test_redis__when_frozen__then_dead_before_the_lease_ends(self):
        one, heart = self.beating(self.name(), stubborn=True)
        begun = time.monotonic()
        self.redis.freeze()
        self.addCleanup(self.redis.thaw)
        died = heart.until_dead() - begun
        self.assertEqual(one.status(), STATUS_LOST, one.text())
        self.assertTrue(TTL_MS / 3000 < died < TTL_MS / 1000, died)

    def test_redis__when_killed__then_dead_before_the_lease_would_have_ended(self):
        one, heart = self.beating(self.name(), stubborn=True)
        begun = time.monotonic()
        self.redis.kill()
        self.addCleanup(self.stack.heal)
        died = heart.until_dead() - begun
        self.assertEqual(one.status(), STATUS_LOST, one.text())
        self.assertLess(died, TTL_MS / 1000)

    def test_run__when_killed__then_its_command_is_too(self):
        one, heart = self.beating(self.name(), stubborn=True)
        killed = time.monotonic()
        one.process.kill()
        self.assertLess(heart.until_dead() - killed, 0.5)

    def test_run__when_killed__then_what_left_the_group_is_too(self):
        heart = Heart(self.folder, "apart", stubborn=True)
        one = self.runner(self.name(), ["sh", "-c", 'timeout 60 "$@"; true', "sh", *heart.command], **SHORT)
        heart.until_beating()
        killed = time.monotonic()
        one.process.kill()
        self.assertLess(heart.until_dead() - killed, 0.5)

    def test_run__when_stopped__then_its_command_is_dead_before_the_lease_ends(self):
        name = self.name()
        one, heart = self.beating(name, stubborn=True)
        one.process.freeze()
        gone = self.gone_at(name)
        self.assertLess(heart.until_dead(), gone)
        self.assertEqual(one.status(10), STATUS_LOST)


class Frozen(RunCase):
    """The service stops answering with its sockets open."""

    def frozen_service(self):
        service = self.service
        service._process.freeze()  # pylint: disable=protected-access
        self.addCleanup(service._process.thaw)  # pylint: disable=protected-access

    def test_service__when_frozen__then_dead_before_the_key_is_gone_and_no_sooner_than_needed(self):
        for stubborn in (False, True):
            name = self.name()
            one, heart = self.beating(name, stubborn)
            time.sleep(TTL_MS / 1000)  # through a few renewals
            frozen = time.monotonic()
            self.frozen_service()
            gone = self.gone_at(name)
            died = heart.until_dead()
            with self.subTest(stubborn=stubborn):
                self.assertLess(died, gone if stubborn else gone - GRACE_MS / 2000)
                self.assertGreater(died - frozen, TTL_MS / 3000)
                self.assertEqual(one.status(), STATUS_LOST, one.text())
            self.service._process.thaw()  # pylint: disable=protected-access

    def test_service__when_frozen__then_dead_too_what_left_the_group(self):
        name = self.name()
        heart = Heart(self.folder, "apart", stubborn=True)
        one = self.runner(name, ["sh", "-c", 'timeout 60 "$@"; true', "sh", *heart.command], **SHORT)
        heart.until_beating()
        self.frozen_service()
        gone = self.gone_at(name)
        self.assertLess(heart.until_dead(), gone)
        self.assertEqual(one.status(), STATUS_LOST, one.text())

    @staticmethod
    def guard_of(one):
        """The process id of a runner's guard."""
        with open(f"/proc/{one.process.pid}/task/{one.process.pid}/children", encoding="ascii") as file:
            for pid in file.read().split():
                with open(f"/proc/{pid}/comm", encoding="utf-8") as comm:
                    if comm.read().strip() == "lockstock-guard":
                        return int(pid)
        raise AssertionError("no guard")

    def test_sleep__when_it_lasted_beyond_the_lease__then_dead_as_soon_as_anybody_wakes(self):
        for sleeper in ("run", "guard"):
            name = self.name()
            one, heart = self.beating(name, stubborn=True)
            pids = {"run": one.process.pid, "guard": self.guard_of(one)}
            for pid in pids.values():
                os.kill(pid, signal.SIGSTOP)
                self.addCleanup(self.kill_quietly, pid)
            gone = self.gone_at(name)
            eventually(lambda: heart.last_beat() > gone + 0.1, 5, "nobody watched")  # pylint: disable=cell-var-from-loop
            woken = time.monotonic()
            os.kill(pids[sleeper], signal.SIGCONT)
            with self.subTest(woken=sleeper):
                self.assertLess(heart.until_dead() - woken, 0.5)

    @staticmethod
    def kill_quietly(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def test_timers__then_on_the_clock_that_goes_on_while_the_machine_sleeps(self):
        one, _ = self.beating(self.name())
        for pid in (one.process.pid, self.guard_of(one)):
            clocks = []
            for entry in os.scandir(f"/proc/{pid}/fdinfo"):
                with open(entry.path, encoding="ascii") as file:
                    clocks += re.findall(r"^clockid: (\d+)", file.read(), re.M)
            self.assertEqual(set(clocks), {str(time.CLOCK_BOOTTIME)})

    def test_deadline__when_switched_off__then_the_command_outlives_its_lease(self):
        name = self.name()
        _, heart = self.beating(name, faulty=True, env={"LOCKSTOCK_FAULTS": "no-run-deadline"})
        self.frozen_service()
        gone = self.gone_at(name)
        eventually(lambda: heart.last_beat() > gone + 0.5, 5, "it lives on: the other tests can fail")


class Access(RunCase):
    INSTANCES = 0
    SECRET = "secret-of-the-runner"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tokens = {"tokens": [{"name": "runner", "sha256": hashlib.sha256(cls.SECRET.encode()).hexdigest(),
                              "scopes": ["locks"]}]}
        path = os.path.join(cls.stack.folder, "run-tokens.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(tokens, file)
        cls.service = cls.instance("a", env={"LOCKSTOCK_TOKENS_FILE": path, "LOCKSTOCK_LISTEN": f"0.0.0.0:{free_port()}",
                                             "LOCKSTOCK_LOG_LEVEL": "debug"})
        cls.service.port = int(cls.service.settings["LOCKSTOCK_LISTEN"].split(":")[1])
        cls.service.start()

    def secret_file(self, secret=SECRET):
        path = os.path.join(self.folder, secrets.token_hex(4))
        with open(path, "w", encoding="utf-8") as file:
            file.write(secret + "\n")
        return path

    def test_token__when_missing_or_wrong__then_77(self):
        for options in ({}, {"token_file": self.secret_file("wrong")}):
            with self.subTest(options=options):
                done = self.shell(self.name(), "echo ran", **options)
                self.assertEqual((done.returncode, done.stdout), (STATUS_FORBIDDEN, ""), done)

    def test_token__when_in_a_file__then_runs_and_is_never_told(self):
        for how in ({"token_file": self.secret_file()}, {"env": {"LOCKSTOCK_TOKEN_FILE": self.secret_file()}}):
            done = self.shell(self.name(), "env; tr '\\0' ' ' </proc/$PPID/cmdline", **how)
            self.assertEqual(done.returncode, 0, done)
            self.assertNotIn(self.SECRET, done.stdout + done.stderr + self.service.text())
        token = re.search(r"LOCKSTOCK_TOKEN=(\w{32})\n", done.stdout)[1]
        self.assertEqual(done.stdout.count(token), 1)
        self.assertNotIn(token, self.service.text() + done.stderr)

    def test_token__when_the_file_changes__then_the_next_call_has_the_new_one(self):
        path = self.secret_file("wrong")
        one = self.runner(self.name(), ["sleep", "2"], token_file=self.secret_file(), ttl="1s")
        self.assertEqual(self.shell(self.name(), "true", token_file=path).returncode, STATUS_FORBIDDEN)
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.SECRET)
        self.assertEqual(self.shell(self.name(), "true", token_file=path).returncode, 0)
        self.assertEqual(one.status(), 0, one.text())

    # -- a network that can be cut

    def ip(self, *words):
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise unittest.SkipTest(f"no network namespaces here: ip {' '.join(words)}: {done.stderr.strip()}")

    def namespace(self):
        """A namespace of its own, joined to ours by one cable; (name, our end, our address)."""
        if os.geteuid() != 0:
            raise unittest.SkipTest("network namespaces need root")
        tag = secrets.token_hex(3)
        name, ours, theirs = f"ls-{tag}", f"ls{tag}a", f"ls{tag}b"
        net = f"10.213.{secrets.randbelow(256)}"
        self.ip("netns", "add", name)
        self.addCleanup(subprocess.run, ["ip", "netns", "del", name], check=False)
        self.ip("link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", name)
        self.addCleanup(subprocess.run, ["ip", "link", "del", ours], check=False, stderr=subprocess.DEVNULL)
        self.ip("addr", "add", f"{net}.1/24", "dev", ours)
        self.ip("link", "set", ours, "up")
        self.ip("-n", name, "addr", "add", f"{net}.2/24", "dev", theirs)
        self.ip("-n", name, "link", "set", theirs, "up")
        return name, ours, f"{net}.1"

    def test_network__when_cut__then_dead_before_the_key_is_gone(self):
        space, cable, address = self.namespace()
        name = self.name()
        one, heart = self.beating(name, stubborn=True, token_file=self.secret_file(),
                                  url=f"http://{address}:{self.port}", wrap=("ip", "netns", "exec", space))
        time.sleep(TTL_MS / 1000)
        cut = time.monotonic()
        self.ip("link", "set", cable, "down")
        gone = self.gone_at(name)
        died = heart.until_dead()
        self.assertLess(died, gone)
        self.assertGreater(died - cut, TTL_MS / 3000)
        self.assertEqual(one.status(), STATUS_LOST, one.text())


if __name__ == "__main__":
    main()
