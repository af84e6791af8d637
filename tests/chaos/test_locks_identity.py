"""Who holds, and which grant: a stranger's token, a late call of an earlier grant, the same token again, two at one row.
Of each mechanism the damage is shown when it is taken out."""

import os
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.load import load
from support.locks import LockCase, token
from support.wait import eventually, holds_for
from test_locks_clients import DOUBT_S, ClientCase

KINDS = ({"kind": "lock"}, {"kind": "fair"}, {"kind": "rw"}, {"kind": "rw", "mode": "shared"}, {"store": "database"},
         {"limit": 1})


class IdentityCase(LockCase):
    """One instance, perhaps with a mechanism taken out; names of every kind and both stores."""

    INSTANCES = 0

    def serve(self, faults=None):
        self.services[:] = []
        self.addCleanup(self.instance("a", faults=faults).start().stop)
        self.until_redis()
        self.http = self.client()

    @staticmethod
    def path_of(body, name):
        return ("/v1/semaphores/" if "limit" in body else "/v1/locks/") + urllib.parse.quote(name, safe="")

    def take(self, body, name, secret, ttl_ms=60000):
        return self.http.put(self.path_of(body, name), {**body, "token": secret, "ttlMs": ttl_ms})

    def call(self, method, body, name, secret, fence=None):
        path = self.path_of(body, name) + (f"?fence={fence}" if fence else "")
        return self.http.request(method, path, {"ttlMs": 90000} if method == "PATCH" else None,
                                 headers={"Lock-Token": secret})

    def grant(self, body, secret=None):
        """(name, token, fence) of a new grant."""
        name, secret = self.name(), secret or token()
        reply = self.take(body, name, secret)
        self.assertEqual(reply.status, 201, reply)
        return name, secret, reply.json["fence"]

    def holder(self, body, name):
        """What is told of the one holder; None: free."""
        holders = self.http.get(self.path_of(body, name)).json["holders"]
        return holders[0] if holders else None


class Strangers(IdentityCase):

    def test_token__when_a_strangers__then_410_and_the_holder_keeps_it(self):
        self.serve()
        for body in KINDS:
            with self.subTest(**body):
                name, mine, fence = self.grant(body)
                for method in ("PATCH", "DELETE"):
                    self.assert_problem(self.call(method, body, name, token()), 410, "LCK-002", reason="unknown")
                    self.assert_problem(self.call(method, body, name, token(), fence), 410, "LCK-002", reason="unknown")
                told = self.holder(body, name)
                self.assertEqual(told["fence"], fence)
                self.assertLessEqual(told["expiresInMs"], 60000, "not prolonged either")
                self.assertEqual(self.call("DELETE", body, name, mine).status, 204)

    def test_token__when_not_compared__then_a_stranger_frees_it(self):
        """The proof that the test above can fail."""
        self.serve("no-holder-check")
        for body in KINDS:
            with self.subTest(**body):
                name, _, _ = self.grant(body)
                self.assertEqual(self.call("PATCH", body, name, token()).status, 200)
                self.assertGreater(self.holder(body, name)["expiresInMs"], 60000)
                self.assertEqual(self.call("DELETE", body, name, token()).status, 204)
                self.assertIsNone(self.holder(body, name))


class LateCalls(IdentityCase):
    """The same token holds a name for the second time; a call that belongs to the first time comes late."""

    def again(self, body):
        name, mine, first = self.grant(body)
        self.assertEqual(self.call("DELETE", body, name, mine).status, 204)
        second = self.take(body, name, mine)
        self.assertEqual(second.status, 201, second)
        self.assertGreater(second.json["fence"], first)
        return name, mine, first

    def test_fence__when_of_an_earlier_grant__then_410_and_the_later_one_stays(self):
        self.serve()
        for body in KINDS:
            with self.subTest(**body):
                name, mine, first = self.again(body)
                for method in ("PATCH", "DELETE"):
                    self.assert_problem(self.call(method, body, name, mine, first), 410, "LCK-002", reason="superseded")
                self.assertLessEqual(self.holder(body, name)["expiresInMs"], 60000)

    def test_fence__when_not_compared__then_a_late_release_frees_the_later_grant(self):
        """The proof that the test above can fail."""
        self.serve("no-fence-check")
        for body in KINDS:
            with self.subTest(**body):
                name, mine, first = self.again(body)
                self.assertEqual(self.call("PATCH", body, name, mine, first).status, 200)
                self.assertEqual(self.call("DELETE", body, name, mine, first).status, 204)
                self.assertIsNone(self.holder(body, name))


class Repeats(IdentityCase):

    def test_put__when_repeated__then_the_same_grant_and_nothing_is_drawn(self):
        self.serve()
        for body in KINDS:
            with self.subTest(**body):
                name, mine, fence = self.grant(body)
                again = self.take(body, name, mine)
                self.assertEqual((again.status, again.json["fence"]), (200, fence))
                self.assertEqual(self.call("DELETE", body, name, mine).status, 204)
                self.assertIsNone(self.holder(body, name))

    def test_put__when_the_token_is_not_looked_for__then_it_is_refused_by_itself(self):
        """The proof that the test above can fail."""
        self.serve("no-repeat")
        for body in KINDS:
            with self.subTest(**body):
                name, mine, fence = self.grant(body)
                again = self.take(body, name, mine)
                if body.get("mode") == "shared":
                    self.assertNotEqual((again.status, again.json.get("fence")), (200, fence), "a second grant")
                else:
                    self.assert_problem(again, 423, "LCK-001")


class GivenBack(ClientCase):
    """A grant that reached nobody ended by itself, and its token has the name anew when the first is given up."""

    def anew(self, body):
        names = [self.name() for _ in range(8)]
        tokens = {name: token() for name in names}
        self.undelivered(names, tokens, ttlMs=150, **body)
        begun = time.monotonic()
        grants = {}
        for name in names:
            reply = eventually(lambda: self.put_new(name, tokens[name], body), 0.7, "a new grant")  # pylint: disable=cell-var-from-loop
            grants[name] = reply.json
        self.assertLess(time.monotonic() - begun, DOUBT_S - 0.1, "before the first is given up")
        return grants

    def put_new(self, name, secret, body):
        reply = self.put(name, token=secret, ttlMs=60000, **body)
        return reply if reply.status == 201 else None

    def test_grant__when_a_later_one_of_the_same_token_stands__then_it_is_not_given_back(self):
        self.serve()
        grants = self.anew({})
        holds_for(lambda: all(self.is_held(name) for name in grants), DOUBT_S + 0.5, "held")
        for name, grant in grants.items():
            self.assertEqual(self.delete(name, grant["token"], fence=grant["fence"]).status, 204)

    def test_grant__when_given_back_without_looking__then_the_later_one_is_freed(self):
        """The proof that the test above can fail."""
        self.serve("blind-give-back")
        grants = self.anew({})
        eventually(lambda: not all(self.is_held(name) for name in grants), DOUBT_S + 2, "one is freed")


class DatabaseRow(IdentityCase):

    def at_once(self):
        """How many of eight that want one name at once got it, round by round."""
        counts = []
        for _ in range(4):
            name = self.name()
            replies = load(8, lambda n: self.service_put(name, store="database", ttlMs=60000))  # pylint: disable=cell-var-from-loop
            counts.append([r.status for r in replies].count(201))
        return counts

    def test_row__when_many_want_it_at_once__then_one_has_it(self):
        self.serve()
        self.assertEqual(self.at_once(), [1, 1, 1, 1])

    def test_row__when_taken_without_comparing__then_several_have_it(self):
        """The proof that the test above can fail."""
        self.serve("no-lease-check")
        self.assertGreater(max(self.at_once()), 1)


if __name__ == "__main__":
    main()
