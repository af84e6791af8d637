"""Clients and replies that get lost: the same PUT sent again finds the same grant and keeps it, whatever became of the
first; who hung up is never granted; a grant that reached nobody is free again."""

import collections
import os
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.load import load
from support.locks import LockCase, Parked, token
from support.wait import RANDOM, SLOW, eventually, holds_for

ALL_AT_ONCE = 50
DOUBT_S = 1.0  # an undelivered grant of a client's own token may be confirmed this long


def reset(parked):
    """The client's machine is gone: its connection is reset, and what it would have read with it."""
    parked.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    parked.close()


class ClientCase(LockCase):
    """Two instances, perhaps with a mechanism taken out; Redis may be frozen for a moment without being given up."""

    INSTANCES = 0

    def serve(self, faults=None):
        self.services[:] = []
        for name in "ab":
            one = self.instance(name, faults=faults, env={"LOCKSTOCK_REDIS_TIMEOUT_MS": "8000"}).start()
            self.addCleanup(one.stop)
        self.until_redis()
        self.addCleanup(self.redis.thaw)
        self.http = self.client()

    def parked(self, name, number=0, **body):
        one = Parked(self.services[number].port, self.path(name), body)
        self.addCleanup(one.close)
        return one

    def is_held(self, name):
        return bool(self.redis.call("EXISTS", name))

    def undelivered(self, names, tokens=None, **body):
        """Grants of instance a whose clients are gone before the reply can be written: they reset their connections
        while the acquires lie in a frozen Redis."""
        self.held(self.name())
        granted = int(self.redis.call("HGET", "lockstock:fence", "n")) + len(names)
        self.redis.freeze()
        clients = [self.parked(name, **body, **({"token": tokens[name]} if tokens else {})) for name in names]
        for _ in range(3):
            self.services[0].get("/healthz")  # behind the acquires: they have been sent
        for one in clients:
            reset(one)
        self.redis.thaw()
        eventually(lambda: int(self.redis.call("HGET", "lockstock:fence", "n")) == granted, 5, "granted all the same")


class LostReplies(ClientCase):

    def test_reply__when_lost_and_sent_again_anywhere__then_the_same_grant_that_stays(self):
        self.serve()
        grants = {}
        for number in range(40):
            name, mine = self.name(), token()
            first = self.parked(name, number % 2, token=mine)
            eventually(lambda: self.is_held(name), 5, "granted")
            (reset if number % 4 < 2 else Parked.close)(first)
            reply = self.put(name, self.client(RANDOM.randrange(2)), token=mine)
            self.assertEqual(reply.status, 200, reply)
            grants[name] = reply.json
        fences = [g["fence"] for g in grants.values()]
        self.assertEqual(len(set(fences)), 40)
        self.assertEqual(max(fences) - min(fences), 39, "one grant each")
        self.stay(grants)

    def stay(self, grants):
        """Beyond the time of doubt each is still its client's, with its fence."""
        holds_for(lambda: all(self.is_held(name) for name in grants), DOUBT_S + 0.5, "held")
        for name, grant in grants.items():
            self.assertEqual(self.delete(name, grant["token"], fence=grant["fence"]).status, 204)

    def repeat_around_the_end_of_doubt(self):
        """PUTs sent again, to either instance, from before to after the moment the first is given up; their grants."""
        names = [self.name() for _ in range(24)]
        tokens = {name: token() for name in names}
        self.undelivered(names, tokens)
        begun, grants = time.monotonic(), {}
        for number, name in enumerate(names):
            at = begun + DOUBT_S * (0.85 + 0.3 * number / len(names))
            time.sleep(max(0.0, at - time.monotonic()))
            reply = self.put(name, self.client(number), token=tokens[name], waitMs=2000)
            self.assertIn(reply.status, (200, 201), reply)
            grants[name] = reply.json
            grants[name]["repeated"] = reply.status == 200
        return grants

    def test_reply__when_sent_again_while_the_first_is_given_up__then_never_freed_under_the_client(self):
        self.serve()
        grants = self.repeat_around_the_end_of_doubt()
        seen = collections.Counter(g["repeated"] for g in grants.values())
        print(f"    repeated {seen[True]}, anew {seen[False]}", file=sys.stderr)
        self.assertGreater(seen[True], 0)
        self.stay(grants)

    def test_reply__when_given_up_without_looking__then_freed_under_the_client(self):
        """The proof that the test above can fail."""
        self.serve("blind-give-back")
        grants = self.repeat_around_the_end_of_doubt()
        eventually(lambda: not all(self.is_held(name) for name in grants), 3, "one is freed")

    def test_put__when_sent_many_times_at_once__then_one_grant(self):
        self.serve()
        for round_ in range(4):
            name, mine = self.name(), token()
            first = self.held(self.name())["fence"]
            replies = load(ALL_AT_ONCE, lambda n: self.service_put(name, n % 2, token=mine, waitMs=1000 * (round_ % 2)))
            self.assert_one_grant(name, replies, first)

    def test_put__when_many_wait_at_once__then_one_grant_at_the_release(self):
        self.serve()
        name, mine = self.name(), token()
        holder = self.held(name)
        waiting = [self.parked(name, n % 2, token=mine, waitMs=20000) for n in range(ALL_AT_ONCE)]
        for number in (0, 1):
            there = self.client(number)
            eventually(lambda: there.get(self.path(name)).json["waiters"] == 1, 5, "one place for all")
        self.let_go(holder)
        self.assert_one_grant(name, [one.reply(10) for one in waiting], holder["fence"])

    def assert_one_grant(self, name, replies, before):
        self.assertEqual(sorted(r.status for r in replies), [200] * (ALL_AT_ONCE - 1) + [201], replies)
        self.assertEqual({r.json["fence"] for r in replies}, {before + 1}, "one number was drawn")
        holds_for(lambda: self.is_held(name), DOUBT_S + 0.3, "held")


class Undelivered(ClientCase):

    def test_grant__when_its_reply_could_not_be_written__then_free_again(self):
        self.serve()
        made, own = [self.name() for _ in range(15)], [self.name() for _ in range(15)]
        self.undelivered(made)
        eventually(lambda: not any(map(self.is_held, made)), 0.5, "a token the service made: at once")
        self.undelivered(own, {name: token() for name in own})
        begun = time.monotonic()
        holds_for(lambda: all(map(self.is_held, own)), DOUBT_S - 0.4, "the client's own may be asked for again")
        eventually(lambda: not any(map(self.is_held, own)), 1, "and then it is free")
        self.assertLess(time.monotonic() - begun, DOUBT_S + 0.5 * SLOW)

    def test_grant__when_nobody_gives_it_back__then_it_stays(self):
        """The proof that the test above can fail."""
        self.serve("no-give-back")
        names = [self.name() for _ in range(5)]
        self.undelivered(names)
        holds_for(lambda: any(map(self.is_held, names)), DOUBT_S + 0.5, "held for nobody")


class HungUp(ClientCase):
    """Of 80 who wait in two lines 60 hang up, in all the ways a client can."""

    WAITERS, DEAD = 80, 60

    def line(self, name):
        """Those who are left when the others have hung up."""
        dead = set(RANDOM.sample(range(self.WAITERS), self.DEAD))
        owner = lambda n: "dead" if n in dead else "living"
        waiting = [self.parked(name, n % 2, token=token(), waitMs=20000, owner=owner(n)) for n in range(self.WAITERS)]
        eventually(lambda: self.count(name) == self.WAITERS, 5, "queued")
        for number in dead:
            RANDOM.choice((reset, Parked.close))(waiting[number])
        return [one for number, one in enumerate(waiting) if number not in dead]

    def count(self, name):
        return sum(s.get(self.path(name)).json["waiters"] for s in self.services)

    def test_waiters__when_their_sockets_close__then_gone_in_a_second_and_never_granted(self):
        self.serve()
        name = self.name()
        holder = self.held(name)
        living = self.line(name)
        begun = time.monotonic()
        eventually(lambda: self.count(name) == len(living), 1, "the dead are gone")
        print(f"    gone after {time.monotonic() - begun:.3f} s", file=sys.stderr)
        fences = [holder["fence"]]
        self.let_go(holder)
        while living:
            ready = eventually(lambda: [one for one in living if one.answered()], 5, "somebody holds")
            self.assertEqual(len(ready), 1)
            living.remove(ready[0])
            fences.append(ready[0].reply().json["fence"])
            self.let_go(ready[0].reply().json)
        self.assertEqual(fences, list(range(fences[0], fences[0] + len(fences))), "no number went to the dead")
        self.assertFalse(self.is_held(name))

    def test_waiters__when_nobody_watches_their_sockets__then_the_dead_are_granted(self):
        """The proof that the test above can fail."""
        self.serve("no-hangup-watch")
        name = self.name()
        holder = self.held(name)
        living = self.line(name)
        holds_for(lambda: self.count(name) == self.WAITERS, 1, "the dead stand in line")
        self.let_go(holder)

        def dead_holds():
            for one in [one for one in living if one.answered()]:
                living.remove(one)
                self.let_go(one.reply().json)
            return [h for h in self.http.get(self.path(name)).json["holders"] if h["owner"] == "dead"]
        eventually(dead_holds, 10, "the lock is held by one who is gone")


if __name__ == "__main__":
    main()
