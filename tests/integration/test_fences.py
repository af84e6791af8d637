"""POST /v1/fences/{name}: the high-water mark of fences for resources that cannot compare by themselves."""

import concurrent.futures
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.locks import LockCase

MAX = 2 ** 53 - 1


class Fences(LockCase):

    @staticmethod
    def fences_path(name):
        return "/v1/fences/" + urllib.parse.quote(name, safe="")

    def show(self, name, fence, http=None):
        return (http or self.http).post(self.fences_path(name), {"fence": fence})

    def test_post__when_first__then_200_with_it(self):
        reply = self.show(self.name(), 7)
        self.assertEqual((reply.status, reply.json), (200, {"highest": 7}))

    def test_post__when_equal_or_higher__then_200(self):
        name = self.name()
        for fence in (7, 7, 8, MAX, MAX):
            reply = self.show(name, fence)
            self.assertEqual((reply.status, reply.json), (200, {"highest": fence}))

    def test_post__when_lower__then_412_and_the_mark_stays(self):
        name = self.name()
        self.show(name, 9)
        self.assert_problem(self.show(name, 8), 412, "LCK-006", highest=9)
        self.assertEqual(self.show(name, 9).status, 200)

    def test_names__then_each_has_its_own_mark_byte_for_byte(self):
        name = self.name()
        self.show(name, 9)
        for other in (name + "/x", name.upper(), name + "é"):
            self.assertEqual(self.show(other, 1).json, {"highest": 1}, other)
        self.assertEqual(self.show(name + "e", 1).status, 200)

    def test_bodies_and_names__when_wrong__then_400(self):
        name = self.name()
        for body in ({}, {"fence": 0}, {"fence": -1}, {"fence": MAX + 1}, {"fence": "7"}, {"fence": 7, "x": 1}, []):
            self.assert_problem(self.http.post(self.fences_path(name), body), 400, "SYS-003")
        self.assert_problem(self.show("a{b", 1), 400, "SYS-003")
        self.assertEqual(self.db.count("fence_marks", "name=%s", name), 0)

    def test_post__when_many_at_once__then_200_exactly_when_none_higher_came_before(self):
        """A 200 names its own fence, a 412 a higher one; the row ends at the highest; a highest fence is never refused."""
        name = self.name()

        def show(fence):
            return fence, self.on_own_connection("POST", self.fences_path(name), {"fence": fence})

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            replies = list(pool.map(show, [n for n in range(1, 101) for _ in range(2)]))
        for fence, reply in replies:
            self.assertIn(reply.status, (200, 412), reply)
            compare = self.assertEqual if reply.status == 200 else self.assertGreater
            compare(reply.json["highest"], fence)
        self.assertEqual([r.status for f, r in replies if f == 100], [200, 200])
        self.assertEqual(self.db.value("SELECT highest FROM fence_marks WHERE name=%s", name), 100)

    def test_redis__when_emptied__then_the_mark_stands(self):
        name = self.name()
        grant = self.held(name)
        self.assertEqual(self.show(name, grant["fence"]).status, 200)
        self.redis.call("FLUSHALL")
        self.assertEqual(self.show(name, grant["fence"] - 1).code, "LCK-006")
        self.assertEqual(self.show(name, self.held(name)["fence"]).status, 200)


if __name__ == "__main__":
    main()
