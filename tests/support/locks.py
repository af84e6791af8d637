"""What tests of the lock API share."""

import itertools
import json
import secrets
import select
import urllib.parse

from .case import Case
from .client import Http
from .wait import eventually


def token():
    return secrets.token_hex(16)


class LockCase(Case):
    """Names of its own for every test; calls on /v1/locks."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.until_redis()

    @classmethod
    def until_redis(cls):
        for one in cls.services:
            eventually(lambda one=one: one.get("/readyz").json["degraded"] == [], 20, "Redis is up")

    def setUp(self):
        super().setUp()
        prefix = f"t/{secrets.token_hex(4)}"
        self._names = (f"{prefix}/{n}" for n in itertools.count(1))

    def name(self):
        return next(self._names)

    @staticmethod
    def path(name, safe=""):
        return "/v1/locks/" + urllib.parse.quote(name, safe=safe or "")

    @staticmethod
    def fence_path(name):
        return "/v1/fences/" + urllib.parse.quote(name, safe="")

    def assert_force_audited(self, name, request_id, owner, fence):
        """It was taken from `owner`, who had `fence`: it stands in the audit, and the mark refuses that fence from now on.
        Returns the fence the force drew."""
        row = self.db.rows("SELECT * FROM lock_audit WHERE name=%s", name)[0]
        self.assertEqual((row["credential"], row["reason"], row["request_id"], row["was_held"], row["holder_owner"],
                          row["holder_fence"]), ("anonymous", "the node is gone", request_id, 1, owner, fence))
        self.assertGreater(row["fence"], fence)
        self.assertIsNotNone(row["done_at"])
        self.assert_problem(self.http.post(self.fence_path(name), {"fence": fence}), 412, "LCK-006", highest=row["fence"])
        return row["fence"]

    def put(self, name, http=None, **body):
        return (http or self.http).put(self.path(name), body)

    def held(self, name, http=None, **body):
        """The grant's document; it must be 201."""
        reply = self.put(name, http, **body)
        self.assertEqual(reply.status, 201, reply)
        return reply.json

    def _with_token(self, method, name, secret, fence, body, http):
        query = "" if fence is None else f"?fence={fence}"
        return (http or self.http).request(method, self.path(name) + query, body, headers={"Lock-Token": secret})

    def patch(self, name, secret, fence=None, http=None, **body):
        return self._with_token("PATCH", name, secret, fence, body, http)

    def delete(self, name, secret, fence=None, http=None):
        return self._with_token("DELETE", name, secret, fence, None, http)

    def let_go(self, grant, http=None):
        reply = self.delete(grant["name"], grant["token"], http=http)
        self.assertEqual(reply.status, 204, reply)

    def on_own_connection(self, method, path, body=None, number=0, **kw):
        client = Http(self.services[number].port, timeout_s=60)
        try:
            return client.request(method, path, body, **kw)
        finally:
            client.close()

    def service_put(self, name, number=0, **body):
        """For threads: each call has a connection of its own."""
        return self.on_own_connection("PUT", self.path(name), body, number)


class Parked:
    """A PUT on a connection of its own whose answer is fetched later."""

    def __init__(self, port, path, body, headers=()):
        self._client, self._reply = Http(port, timeout_s=60), None
        data = json.dumps(body).encode()
        head = (f"PUT {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(data)}\r\n" + "".join(f"{n}: {v}\r\n" for n, v in headers) + "\r\n")
        self._client._connect()  # pylint: disable=protected-access
        self.socket = self._client._socket  # pylint: disable=protected-access
        self.socket.sendall(head.encode() + data)

    def answered(self):
        return self._reply is not None or bool(select.select([self.socket], [], [], 0)[0])

    def reply(self, timeout_s=30):
        if self._reply is None:
            self.socket.settimeout(timeout_s)
            self._reply = self._client._receive("PUT")  # pylint: disable=protected-access
        return self._reply

    def close(self):
        self._client.close()
