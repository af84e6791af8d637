"""Waits that close a cycle of tokens: LCK-007 to the newest of them, with the cycle, and to nobody else."""

import concurrent.futures
import hashlib
import json
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.locks import LockCase, Parked, token
from support.wait import SEED, SLOW, eventually

SOON_S = 2.0  # from the last wait of a cycle to its refusal


def holder(secret):
    return hashlib.sha256(b"anonymous\0" + secret.encode()).hexdigest()


class CycleCase(LockCase):
    """Tokens that hold and wait. A machine that is busy with other things is no Redis that is away."""

    ENV = {"LOCKSTOCK_REDIS_TIMEOUT_MS": 2000}

    def parked(self, name, secret, number=0, **body):
        """A wait of this token for a name, or for a set of names."""
        path = self.path(name) if isinstance(name, str) else "/v1/locks"
        names = {} if isinstance(name, str) else {"names": name}
        one = Parked(self.services[number].port, path, {"waitMs": 15000, "token": secret, **names, **body})
        self.addCleanup(one.close)
        return one

    def waits(self, name, secret, number=0, known=True, **body):
        """As parked, once it stands in the queue and, when known, is written down."""
        one = self.parked(name, secret, number, **body)
        if known:
            eventually(lambda: self.redis.call("EXISTS", f"lockstock:waits:{holder(secret)}"), 5, "written down")
        else:
            eventually(lambda: self.waiters(name, number) > 0, 5, "queued")
        return one

    def waiters(self, name, number=0):
        return self.services[number].get(self.path(name)).json["waiters"]

    def refused(self, waiting, begun=None):
        """The problem of the wait that is refused; within the time promised after `begun`."""
        document = self.assert_problem(waiting.reply(10), 409, "LCK-007")
        if begun is not None:
            self.assertLess(time.monotonic() - begun, SOON_S * SLOW)
        return document

    def free_all(self, secret):
        self.assertEqual(self.http.request("DELETE", "/v1/locks", headers={"Lock-Token": secret}).status, 200)

    def searches(self, number=0):
        return self.services[number].metric("lockstock_lock_cycle_searches_total")

    def ring(self, numbers, bodies=None):
        """Token i holds name i and waits for name i+1 at instance numbers[i]; the last closes the cycle."""
        size, bodies = len(numbers), bodies or [{}] * len(numbers)
        names, tokens = [self.name() for _ in numbers], [token() for _ in numbers]
        grants = [self.held(names[i], token=tokens[i], owner=f"w{i}", **bodies[i]) for i in range(size)]
        parked = [self.waits(names[i + 1], tokens[i], numbers[i], **bodies[i + 1]) for i in range(size - 1)]
        begun = time.monotonic()
        last = self.parked(names[0], tokens[-1], numbers[-1], **bodies[0])
        document = self.refused(last, begun)
        chain = [(size - 1 + i) % size for i in range(size)]
        self.assertEqual([link["name"] for link in document["cycle"]], [names[i] for i in chain])
        self.assertEqual([link["owner"] for link in document["cycle"]], [f"w{i}" for i in chain])
        self.assertEqual([link["fence"] for link in document["cycle"]], [grants[i]["fence"] for i in chain])
        self.assertEqual([link["waitsFor"] for link in document["cycle"]], [names[(i + 1) % size] for i in chain])
        self.assertFalse(any(secret in str(document) or holder(secret) in str(document) for secret in tokens))
        self.assertFalse(any(one.answered() for one in parked))
        for i in reversed(range(size - 1)):
            self.free_all(tokens[i + 1])
            self.assertEqual(parked[i].reply(10).status, 201)
        self.free_all(tokens[0])


class Cycles(CycleCase):

    INSTANCES = 2

    def test_two__when_on_one_instance__then_the_newest_is_refused_and_the_other_goes_on(self):
        before = self.service.metric("lockstock_lock_deadlocks_total")
        self.ring([0, 0])
        self.assertEqual(self.service.metric("lockstock_lock_deadlocks_total"), before + 1)

    def test_two__when_over_two_instances__then_the_newest_is_refused_and_the_other_goes_on(self):
        self.ring([0, 1])
        self.ring([1, 0])

    def test_three__when_over_two_instances__then_the_newest_is_refused_and_the_others_go_on(self):
        self.ring([0, 1, 0])

    def test_kinds__when_fair_and_writers_are_among_them__then_found(self):
        self.ring([0, 1], [{"kind": "fair"}, {"kind": "fair"}])
        self.ring([0, 1, 1], [{"kind": "fair"}, {"kind": "rw"}, {}])

    def test_both__when_they_close_it_at_once__then_exactly_one_is_refused(self):
        for number in range(10):
            names, tokens = [self.name(), self.name()], [token(), token()]
            for name, secret in zip(names, tokens):
                self.held(name, token=secret)
            parked = [self.parked(names[1 - i], tokens[i], i * (number % 2)) for i in (0, 1)]
            eventually(lambda parked=parked: any(p.answered() for p in parked), SOON_S, "one is refused")
            loser = 0 if parked[0].answered() else 1
            self.refused(parked[loser])
            self.free_all(tokens[loser])
            self.assertEqual(parked[1 - loser].reply(10).status, 201)
            self.free_all(tokens[1 - loser])

    def test_writer__when_one_of_many_readers_waits_for_it__then_refused_for_that_reader(self):
        a, b, (one, two) = self.name(), self.name(), (token(), token())
        for number in range(20):
            self.held(a, token=one if number == 7 else token(), kind="rw", mode="shared", owner=f"r{number}")
        self.held(b, token=two)
        first = self.waits(b, one)
        begun = time.monotonic()
        cycle = self.refused(self.parked(a, two, 1, kind="rw"), begun)["cycle"]
        self.assertEqual([(l["name"], l["waitsFor"]) for l in cycle], [(b, a), (a, b)])
        self.assertEqual(cycle[1]["owner"], "r7")
        self.assertFalse(first.answered())

    def test_upgrade__when_two_readers_would_write__then_both_are_told_at_once_that_they_read(self):
        name, secrets = self.name(), (token(), token())
        for secret in secrets:
            self.held(name, token=secret, kind="rw", mode="shared")
        for secret in secrets:
            self.assert_problem(self.put(name, token=secret, kind="rw", waitMs=10000), 423, "LCK-001")

    def test_reader__when_it_waits_behind_a_writer__then_the_cycle_through_it_is_found(self):
        a, z, (one, two) = self.name(), self.name(), (token(), token())
        reads = {"kind": "rw", "mode": "shared"}
        self.held(a, token=one, **reads)
        self.held(z, token=two)
        writer = self.waits(a, token(), 1, known=False, kind="rw")
        first = self.waits(z, one)
        begun = time.monotonic()
        self.refused(self.parked(a, two, **reads), begun)
        self.free_all(two)
        self.assertEqual(first.reply(10).status, 201)
        self.free_all(one)
        self.assertEqual(writer.reply(10).status, 201)

    def test_set__when_one_of_its_names_closes_the_cycle__then_refused_and_it_holds_nothing(self):
        (a, b, c), (one, two) = sorted(self.name() for _ in range(3)), (token(), token())
        self.held(a, token=one)
        stranger = self.held(b)
        self.held(c, token=two)
        first = self.waits(c, one)
        begun, free = time.monotonic(), self.name()
        cycle = self.refused(self.parked([free, b, a], two, 1), begun)["cycle"]
        self.assertEqual([(l["name"], l["waitsFor"]) for l in cycle], [(c, a), (a, c)])
        self.assertEqual(self.http.get(self.path(free)).json["held"], False)
        self.free_all(two)
        self.assertEqual(first.reply(10).status, 201)
        self.let_go(stranger)

    def test_set__when_it_is_the_older__then_the_newer_is_refused(self):
        (a, b), (one, two) = (self.name(), self.name()), (token(), token())
        self.held(a, token=one)
        self.held(b, token=two)
        first = self.waits([self.name(), b], one)
        self.refused(self.parked(a, two, 1))
        self.free_all(two)
        self.assertEqual(first.reply(10).status, 201)

    def test_token__when_it_gets_what_others_wait_for_while_it_waits__then_found(self):
        """It held nothing when it began to wait, behind another; what it gets later it gets elsewhere."""
        a, b, (one, two) = self.name(), self.name(), (token(), token())
        self.held(a, token=one)
        head = self.waits(a, token(), known=False)
        waiting = self.parked(a, two)
        eventually(lambda: self.waiters(a) == 2, 5, "queued")
        self.held(b, self.client(1), token=two)
        self.assertFalse(self.redis.call("EXISTS", f"lockstock:waits:{holder(two)}"))
        begun = time.monotonic()
        self.refused(self.parked(b, one, 1), begun)
        self.assertFalse(waiting.answered() or head.answered())

    def test_grant__when_it_closes_the_cycle_and_no_wait_does__then_found(self):
        """The last edge is a grant: a token that waits gets the name another has waited for."""
        a, b, (one, two), third = self.name(), self.name(), (token(), token()), token()
        self.held(a, token=one)
        self.held(b, token=third)
        old = self.waits(b, one)
        waiting = self.waits(a, two, known=False)
        line = self.parked(b, two, 1)
        eventually(lambda: self.waiters(b, 1) == 1, 5, "queued")
        begun = time.monotonic()
        self.assertEqual(self.delete(b, third, http=self.client(1)).status, 204)
        self.assertEqual(line.reply(10).status, 201)
        self.refused(waiting, begun)
        self.assertFalse(old.answered())
        self.free_all(two)
        self.assertEqual(old.reply(10).status, 201)

    def test_newest__when_its_wait_is_over_first__then_nobody_is_refused(self):
        (a, b), (one, two) = (self.name(), self.name()), (token(), token())
        self.held(a, token=one)
        self.held(b, token=two)
        first = self.waits(b, one)
        self.assert_problem(self.put(a, token=two), 423, "LCK-001")
        gone = self.parked(a, two, 1, waitMs=1)
        self.assertEqual(gone.reply(10).status, 423)
        self.free_all(two)
        self.assertEqual(first.reply(10).status, 201)

    def test_wait__when_the_client_of_the_older_hung_up__then_the_newer_goes_on_waiting(self):
        (a, b), (one, two) = (self.name(), self.name()), (token(), token())
        self.held(a, token=one)
        self.held(b, token=two)
        self.waits(b, one).close()
        eventually(lambda: self.waiters(b) == 0, 5, "noticed")
        newer = self.parked(a, two, 1, waitMs=3000)
        self.assertEqual(newer.reply(10).status, 423)

    def test_wait__when_a_lease_of_the_cycle_ended__then_granted_not_refused(self):
        (a, b), (one, two) = (self.name(), self.name()), (token(), token())
        self.held(a, token=one, ttlMs=300)
        self.held(b, token=two)
        first = self.waits(b, one)
        eventually(lambda: not self.redis.call("EXISTS", a), 5, "the lease ended")
        self.assertEqual(self.parked(a, two).reply(10).status, 201)
        self.free_all(two)
        self.assertEqual(first.reply(10).status, 201)

    def test_slice__when_the_place_is_asked_for_again__then_refused_with_the_age_it_had(self):
        (a, b), (one, two) = (self.name(), self.name()), (token(), token())
        self.held(a, token=one)
        self.held(b, token=two)
        first = self.waits(b, one)
        again = self.parked(b, one)
        self.refused(self.parked(a, two, 1))
        self.assertFalse(first.answered() or again.answered())
        self.free_all(two)
        self.assertEqual(sorted(p.reply(10).status for p in (first, again)), [200, 201])


class Prefixes(CycleCase):

    INSTANCES = 0
    SECRETS = {"one": "secret-of-one", "two": "secret-of-two"}
    PREFIXES = {"one": ["mine/"], "two": ["mine/", "theirs/"]}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        path = os.path.join(cls.stack.folder, "cycle-tokens.json")
        rows = [{"name": who, "sha256": hashlib.sha256(secret.encode()).hexdigest(), "scopes": ["locks"],
                 "prefixes": cls.PREFIXES[who]} for who, secret in cls.SECRETS.items()]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"tokens": rows}, file)
        cls.service = cls.instance("a", env={**cls.ENV, "LOCKSTOCK_TOKENS_FILE": path}).start()
        cls.until_redis()

    def bearer(self, who):
        return [("Authorization", "Bearer " + self.SECRETS[who])]

    def waits_as(self, who, name, secret):
        body = {"waitMs": 15000, "token": secret}
        one = Parked(self.service.port, self.path(name), body, self.bearer(who))
        self.addCleanup(one.close)
        written = f"lockstock:waits:{hashlib.sha256(who.encode() + bytes(1) + secret.encode()).hexdigest()}"
        eventually(lambda: one.answered() or self.redis.call("EXISTS", written), 5, "written down")
        return one

    def test_cycle__when_a_name_is_not_covered__then_it_and_its_owner_are_not_told(self):
        tokens, names = [token() for _ in range(3)], ["mine/a", "mine/b", "theirs/c"]
        for who, name, secret in zip(("one", "two", "two"), names, tokens):
            reply = self.http.put(self.path(name), {"token": secret, "owner": name}, headers=self.bearer(who))
            self.assertEqual(reply.status, 201, reply)
        self.waits_as("two", "theirs/c", tokens[1])
        self.waits_as("two", "mine/a", tokens[2])
        cycle = self.refused(self.waits_as("one", "mine/b", tokens[0]))["cycle"]
        self.assertEqual([(l["name"], l["owner"], l["waitsFor"]) for l in cycle],
                         [("mine/a", "mine/a", "mine/b"), ("mine/b", "mine/b", None), (None, None, "mine/a")])
        self.assertIsNone(cycle[2]["fence"])


class Cost(CycleCase):

    def calls(self):
        stats = self.redis.call("INFO", "commandstats")
        return sum(int(line.split("calls=")[1].split(",")[0]) for line in stats.splitlines()
                   if line.startswith(("cmdstat_evalsha:", "cmdstat_eval:")))

    def counted(self, secret_holds):
        """Script calls and searches of one wait of a token, from its request to its grant."""
        name, secret = self.name(), token()
        grant = self.held(name)
        if secret_holds:
            self.held(self.name(), token=secret)
        before, looks = self.calls(), self.searches()
        waiting = self.parked(name, secret)
        eventually(lambda: self.service.metric("lockstock_lock_waiting") == 1, 5, "waits")
        eventually(lambda: not secret_holds or self.searches() > looks, 5, "looked at")
        self.let_go(grant)
        self.assertEqual(waiting.reply(10).status, 201)
        return self.calls() - before, self.searches() - looks

    def test_wait__when_the_token_holds_nothing__then_no_call_but_those_of_the_wait(self):
        """Those are: the take that is refused, the one once the release would be heard, the release that hands over."""
        self.assertLessEqual(min(self.counted(False)[0] for _ in range(5)), 3)
        self.assertEqual(self.counted(False)[1], 0)
        self.assertGreaterEqual(self.counted(True)[1], 1)

    def test_tokens__when_the_service_made_them__then_nothing_is_looked_at_or_written(self):
        looks, grant = self.searches(), self.held(self.name())
        parked = [Parked(self.service.port, self.path(grant["name"]), {"waitMs": 10000}) for _ in range(20)]
        for one in parked:
            self.addCleanup(one.close)
        eventually(lambda: self.waiters(grant["name"]) == 20, 5, "queued")
        self.assertEqual(self.redis.call("KEYS", "lockstock:waits:*"), [])
        self.assertEqual(self.searches(), looks)


class DeadCase(CycleCase):
    """What a dead instance left written down."""

    def stale(self, victim):
        """A wait at an instance that dies; the wait that would close a cycle with it, at instance 0."""
        victim.start()
        (a, b), (one, two) = (self.name(), self.name()), (token(), token())
        self.held(a, token=one)
        self.held(b, token=two)
        number = self.services.index(victim)
        eventually(lambda: victim.get("/readyz").json["degraded"] == [], 20, "Redis is up")
        self.waits(b, one, number)
        victim.kill()
        key = f"lockstock:waits:{holder(one)}"
        self.assertTrue(0 < self.redis.call("PTTL", key) <= 3000)
        return self.parked(a, two, waitMs=4000), key


class Dead(DeadCase):

    def test_instance__when_it_died__then_its_waits_refuse_nobody_and_end(self):
        newer, key = self.stale(self.instance("dies"))
        eventually(lambda: not self.redis.call("EXISTS", key), 5, "ended by its TTL")
        self.assertEqual(newer.reply(10).status, 423)


class Unconfirmed(DeadCase):

    FAULTS = "no-cycle-confirm"

    def test_instance__when_it_died_and_nobody_confirms__then_its_old_word_refuses(self):
        newer, _ = self.stale(self.instance("dies"))
        self.assertEqual(newer.reply(10).status, 409)


class Removed(CycleCase):

    FAULTS = "no-cycle-search"

    def test_two__when_nobody_looks__then_both_wait_to_the_end(self):
        (a, b), (one, two) = (self.name(), self.name()), (token(), token())
        self.held(a, token=one)
        self.held(b, token=two)
        parked = [self.parked(b, one, waitMs=3000), self.parked(a, two, waitMs=3000)]
        self.assertEqual([p.reply(10).status for p in parked], [423, 423])


class Ordered(CycleCase):
    """Clients that take names in one order never deadlock: nobody may be told so."""

    INSTANCES = 2
    SECONDS = 20 if os.environ.get("LOCKSTOCK_TEST_FULL") else 4

    def work(self, number, names):
        """Takes two to four names in their order, now and then gives up or lets a lease end."""
        chance, count, ends = random.Random(SEED * 100 + number), 0, time.monotonic() + self.SECONDS
        while time.monotonic() < ends:
            secret, some = token(), sorted(chance.sample(names, chance.randrange(2, 5)))
            for name in some:
                body = {"token": secret, "waitMs": chance.choice((5, 200, 10000)), "ttlMs": chance.choice((150, 30000)),
                        "kind": "rw" if "rw" in name else "fair" if "fair" in name else "lock"}
                if body["kind"] == "rw":
                    body["mode"] = chance.choice(("shared", "exclusive"))
                reply = self.service_put(name, chance.randrange(2), **body)
                self.assertIn(reply.status, (200, 201, 423), reply)
                if reply.status == 423:
                    break
            done = self.on_own_connection("DELETE", "/v1/locks", headers={"Lock-Token": secret})
            self.assertIn(done.status, (200, 410), done)
            count += 1
        return count

    def test_clients__when_all_take_names_in_one_order__then_none_is_refused_for_a_cycle(self):
        names = sorted(self.name() + kind for kind in ("lock", "lock", "rw", "fair", "rw", "lock"))
        before = [one.metric("lockstock_lock_deadlocks_total") for one in self.services]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            done = list(pool.map(lambda number: self.work(number, names), range(8)))
        self.assertGreater(sum(done), 0)
        self.assertGreater(self.searches(0) + self.searches(1), 0)
        self.assertEqual([one.metric("lockstock_lock_deadlocks_total") for one in self.services], before)


class Unordered(CycleCase):
    """Clients that take names in any order: each cycle is broken, and each refusal tells of a cycle that is there."""

    INSTANCES = 2
    SECONDS = 30 if os.environ.get("LOCKSTOCK_TEST_FULL") else 4
    WAIT_MS = 15000

    def setUp(self):
        super().setUp()
        self.waiting, self.refusals, self.lock = {}, set(), threading.Lock()  # owner -> name; owners
        for one in range(self.INSTANCES):  # the first grant of an instance may wait for an epoch from MySQL
            self.held(self.name(), self.client(one))
        self.errors = []  # of clients, in the order of time: the first may be the cause of the others

    def judge(self, owner, cycle):
        """Everybody else in it waits as it says. Not to be told when another of them was refused too, and let go."""
        with self.lock:
            self.refusals.add(owner)
            others = [link for link in cycle if link["owner"] != owner]
            if self.refusals.isdisjoint(link["owner"] for link in others):
                self.assertEqual([(l["owner"], self.waiting.get(l["owner"])) for l in others],
                                 [(l["owner"], l["waitsFor"]) for l in others], cycle)
        self.assertEqual(cycle[0]["owner"], owner)
        self.assertEqual([link["waitsFor"] for link in cycle], [link["name"] for link in cycle[1:] + cycle[:1]])

    def take(self, owner, secret, name, number):
        kind = "rw" if "rw" in name else "fair" if "fair" in name else "lock"
        with self.lock:
            self.waiting[owner] = name
        reply = self.service_put(name, number, token=secret, owner=owner, kind=kind, waitMs=self.WAIT_MS)
        if reply.status == 409:
            self.judge(owner, self.assert_problem(reply, 409, "LCK-007")["cycle"])
        else:
            self.assertEqual(reply.status, 201, reply)  # 423: a cycle was missed
        with self.lock:
            del self.waiting[owner]
        return reply.status == 201

    def client_of(self, number, names):
        try:
            return self.work(number, names)
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(error)
            return 0, 0

    def work(self, number, names):
        """How many sessions were whole, and how many were refused."""
        chance, whole, refused, ends = random.Random(SEED * 100 + number), 0, 0, time.monotonic() + self.SECONDS
        while time.monotonic() < ends:
            secret, owner = token(), f"{number}/{whole + refused}"
            some = chance.sample(names, chance.randrange(2, 4))
            if all(self.take(owner, secret, name, chance.randrange(2)) for name in some):
                whole += 1
            else:
                refused += 1
            done = self.on_own_connection("DELETE", "/v1/locks", headers={"Lock-Token": secret})
            self.assertIn(done.status, (200, 410), done)
        return whole, refused

    def test_clients__when_each_takes_names_in_its_own_order__then_none_waits_for_ever_and_each_cycle_is_real(self):
        names = [self.name() + kind for kind in ("lock", "lock", "rw", "fair", "lock", "lock")]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            done = list(pool.map(lambda number: self.client_of(number, names), range(8)))
        for error in self.errors:
            raise error
        whole, refused = (sum(column) for column in zip(*done))
        print(f"    sessions: {whole} whole, {refused} refused", file=sys.stderr)
        self.assertGreater(whole, 0)
        self.assertTrue(refused or whole < 50)


if __name__ == "__main__":
    main()
