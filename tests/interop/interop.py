"""The test case of interop: our HTTP API and a peer's library on one Redis, and how long each waited for the other."""

import contextlib
import select
import statistics
import sys
import time

from peers import NO_LEASE, Peer, PeerError, Remote

from support.locks import LockCase, Parked, token
from support.wait import SLOW, eventually

ROUNDS = 20
MEDIAN_MS_MAX = 50  # from the release to the other side's grant
WORST_MS_MAX = 500  # of ROUNDS, on a machine that has other work too
POLL_MS_MAX = 2000  # what no message announces is found within this
NOT_YET = {"SYS-003", "SYS-005", "SYS-007", "LCK-005"}  # how the service says that it has no such kind


def now_ns():
    return time.monotonic_ns()


class InteropCase(LockCase):
    """PEER names a build of a library; KIND is the peer's kind of lock, OURS what a PUT of ours says for the same."""

    PEER = None
    KIND = "lock"
    OURS = {}
    WATCHDOG_MS = 1500  # of the peer: short, so that a test sees it work

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.peer = Peer.shared(cls.stack, cls.PEER, cls.WATCHDOG_MS)
        if not cls.peer.version.startswith(expected_version(cls.PEER)):
            raise AssertionError(f"{cls.PEER} runs {cls.peer.version}")

    def setUp(self):
        super().setUp()
        self.require(self.OURS)

    def require(self, body):
        """Skips the test while the service does not have this kind of lock."""
        if body:
            reply = self.http.put(self.path(self.name()), body)
            if reply.code in NOT_YET:
                self.skipTest(f"the service has no {body} yet: {reply.status} {reply.code}")

    # -- both sides

    def actor(self, name="t1"):
        """A thread of the peer for this test alone: one that hangs holds up no other test."""
        return f"{self.id().rsplit('.', 1)[-1]}-{name}"

    def remote(self, name, actor="t1", kind=None, peer=None):
        """The name's lock in a thread of the peer."""
        return Remote(peer or self.peer, self.actor(actor), kind or self.KIND, name)

    def ask(self, command, *arguments):
        """What the peer answers to a command that is not about a lock."""
        return self.peer.ask(self.actor(), command, *arguments)

    def ours(self, name, **body):
        return self.put(name, **{**self.OURS, **body})

    def hold(self, name, **body):
        """Our grant's document; it must be 201."""
        reply = self.ours(name, **body)
        self.assertEqual(reply.status, 201, reply)
        return reply.json

    def parked(self, name, **body):
        """A waiting PUT of ours; back when the service counts it."""
        before = self.waiters(name)
        one = Parked(self.service.port, self.path(name), {"waitMs": 20000, **self.OURS, **body})
        self.addCleanup(one.close)
        eventually(lambda: self.waiters(name) > before, 5, "queued")
        return one

    def waiters(self, name):
        return self.http.get(self.path(name)).json["waiters"]

    def force(self, name):
        reply = self.http.request("DELETE", self.path(name) + "?force=true&reason=interop")
        self.assertEqual(reply.status, 204, reply)

    def listeners(self, name):
        """Subscriptions of any channel that bears the name."""
        pattern = "*{" + name + "}*"
        channels = self.redis.call("PUBSUB", "CHANNELS", pattern)
        return sum(self.redis.call("PUBSUB", "NUMSUB", c)[1] for c in channels)

    @contextlib.contextmanager
    def one_more_listener(self, name, beside_ours=False):
        """What runs inside makes the peer listen for the name's release. Its subscription of a wait before may still be
        on its way out: nobody listens first, unless some of ours wait too."""
        if not beside_ours:
            eventually(lambda: self.listeners(name) == 0, 5, "nobody listens")
        before = self.listeners(name)
        yield
        eventually(lambda: self.listeners(name) > before, 5, "listening")

    def waiting(self, remote, lease_ms=NO_LEASE, beside_ours=False):
        """The peer's lock() on its way, asleep until it is woken; Told."""
        with self.one_more_listener(remote.name, beside_ours):
            told = remote.tell("lock", lease_ms)
        return told

    # -- what is asked

    def assert_refused(self, reply):
        return self.assert_problem(reply, 423, "LCK-001")

    def assert_throws(self, told_or_fn):
        """The library says that this thread does not hold the lock."""
        with self.assertRaises(PeerError) as caught:
            told_or_fn()
        self.assertRegex(str(caught.exception), "not locked by current")

    def assert_prompt(self, what, waits_ns):
        """Each wait is from the call that released to the other side's grant."""
        waits = sorted(w / 1e6 for w in waits_ns)
        median, worst = statistics.median(waits), waits[-1]
        print(f"    {self.PEER}: {what}: {len(waits)} rounds, median {median:.1f} ms, worst {worst:.1f} ms",
              file=sys.stderr)
        self.assertLessEqual(median, MEDIAN_MS_MAX * SLOW, f"{what}: {waits}")
        self.assertLessEqual(worst, WORST_MS_MAX * SLOW, f"{what}: {waits}")

    def assert_disjoint(self, spans):
        """No two of (begin, end) overlap."""
        spans = sorted(spans)
        for before, after in zip(spans, spans[1:]):
            self.assertLessEqual(before[1], after[0], "two were inside at once")

    def assert_untouched(self, name):
        """Nothing is left of a lock that both sides let go, but what Redisson means to stay: the counter of a fenced
        lock, and for some seconds the latch of an unlock of one."""
        left = [k for k in self.redis.call("KEYS", "*" + name + "*")
                if not k.startswith(("lockstock:", "redisson_lock_token:"))]
        self.assertEqual([k for k in left if "_latch:" not in k or self.redis.call("PTTL", k) == -1], [])


def granted_at(parked, timeout_s=30):
    """The moment the answer of a waiting PUT was there."""
    if not select.select([parked.socket], [], [], timeout_s * SLOW)[0]:
        raise AssertionError("our waiter has no answer")
    return now_ns()


def expected_version(peer):
    return {"redisson-3": "3.", "redisson-4": "4.", "node": "1."}[peer]


def for_each_redisson(module, *mixins):
    """One test class for each mixin and library: Redisson3RLock, Redisson4RLock, …; a mixin is left to its heirs."""
    for mixin in mixins:
        for number in (3, 4):
            name = f"Redisson{number}{mixin.__name__}"
            members = {"PEER": f"redisson-{number}", "__module__": module["__name__"], "__doc__": mixin.__doc__}
            module[name] = type(name, (mixin, InteropCase), members)


__all__ = ["InteropCase", "NO_LEASE", "PeerError", "POLL_MS_MAX", "ROUNDS", "for_each_redisson", "granted_at", "now_ns",
           "token"]
