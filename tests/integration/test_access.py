"""Who may do what: token file, scopes, reload, the rules for callers without a token, and no secret in the log."""

import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support import service as service_module  # pylint: disable=wrong-import-position
from support.case import Case, main
from support.client import Http
from support.wait import eventually, free_port

PRODUCT = {"name": "Lamp", "price": 1, "stock": 10}
ORDER = {"userId": "u-1", "items": [{"productId": 1, "quantity": 1}]}


def secret_of(name):
    return f"secret-token-of-{name}"


def tokens(*entries):
    return {"tokens": [{"name": name, "sha256": hashlib.sha256(secret_of(name).encode()).hexdigest(), "scopes": scopes}
                       for name, scopes in entries]}


def bearer(name):
    return {"Authorization": f"Bearer {secret_of(name)}"}


class Tokens(Case):
    INSTANCES = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.path = os.path.join(cls.stack.folder, "tokens.json")
        cls.write(tokens(("buyer", ["orders"]), ("stocker", ["inventory"]), ("boss", ["admin"]), ("eyes", ["read"]),
                         ("locker", ["locks"])))
        cls.service = cls.instance("a", env={"LOCKSTOCK_TOKENS_FILE": cls.path, "LOCKSTOCK_LOG_LEVEL": "debug"}).start()

    @classmethod
    def write(cls, document):
        with open(cls.path, "w", encoding="utf-8") as file:
            file.write(document if isinstance(document, str) else json.dumps(document))

    def test_token__when_missing_or_wrong__then_sys_006(self):
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic dTpw"},
                        {"Authorization": secret_of("buyer")}, {"Authorization": "Bearer"},
                        {"Authorization": "Bearer " + secret_of("buyer") + "x"}):
            with self.subTest(headers=headers):
                reply = self.http.get("/v1/orders", headers=headers)
                self.assert_problem(reply, 401, "SYS-006")
                self.assertTrue(reply.headers["www-authenticate"].startswith("Bearer"))

    def test_scheme__when_spelled_in_lower_case__then_it_counts(self):
        reply = self.http.get("/v1/orders", headers={"Authorization": "bearer " + secret_of("buyer")})
        self.assertEqual(reply.status, 200)

    def test_open_paths__when_no_token__then_200(self):
        for path in ("/healthz", "/readyz", "/version", "/metrics", "/openapi.yaml", "/problems/insufficient-stock"):
            with self.subTest(path=path):
                self.assertEqual(self.http.get(path).status, 200)

    def test_scope__when_it_lacks__then_sys_004_and_when_it_fits_then_done(self):
        put = lambda who: self.http.put("/v1/products/1", PRODUCT, headers=bearer(who))
        self.assertIn(put("stocker").status, (200, 201))
        for who in ("buyer", "eyes", "locker"):
            self.assert_problem(put(who), 403, "SYS-004")
        buy = lambda who: self.http.post("/v1/orders", ORDER, headers=bearer(who))
        for who in ("stocker", "eyes", "locker"):
            self.assert_problem(buy(who), 403, "SYS-004")
        created = buy("buyer")
        self.assertEqual(created.status, 201, created)
        self.assertEqual(buy("boss").status, 201)
        path = created.headers["location"]
        for who, status in (("buyer", 200), ("eyes", 200), ("boss", 200), ("locker", 403)):
            self.assertEqual(self.http.get(path, headers=bearer(who)).status, status, who)
        for who in ("buyer", "stocker", "eyes"):
            reply = self.http.post(path + "/status", {"status": "PREPARING"}, headers=bearer(who))
            self.assert_problem(reply, 403, "SYS-004")
            self.assert_problem(self.http.post("/v1/compensations/1/resolve", headers=bearer(who)), 403, "SYS-004")
        self.assert_problem(self.http.post("/v1/compensations/1/resolve", headers=bearer("boss")), 404, "SYS-013")

    def test_scope__when_it_lacks__then_the_body_is_not_judged(self):
        self.assert_problem(self.http.post("/v1/orders", b"{", headers=bearer("eyes")), 403, "SYS-004")
        self.assert_problem(self.http.post("/v1/orders", b"{"), 401, "SYS-006")

    def test_host__when_a_token_is_sent__then_any_host_will_do(self):
        reply = self.http.get("/v1/orders", headers={**bearer("buyer"), "Host": "shop.example.com"})
        self.assertEqual(reply.status, 200)

    def test_reload__when_the_file_changed__then_new_tokens_count_and_old_do_not(self):
        self.write(tokens(("buyer", ["orders"]), ("late", ["orders"])))
        self.service.hang_up()
        get = lambda who: self.http.get("/v1/orders", headers=bearer(who)).status
        eventually(lambda: get("late") == 200, 5, "the new token counts")
        self.assertEqual((get("buyer"), get("eyes")), (200, 401))
        self.write("{broken")
        self.service.hang_up()
        eventually(lambda: [e for e in self.service.log() if e["level"] in ("warn", "error")], 5, "the fault is logged")
        self.assertEqual((get("buyer"), get("late")), (200, 200), "the old table stays")
        self.write(tokens(("buyer", ["orders"]), ("stocker", ["inventory"]), ("boss", ["admin"]), ("eyes", ["read"]),
                          ("locker", ["locks"])))
        self.service.hang_up()
        eventually(lambda: get("eyes") == 200, 5, "the file is read again")

    def test_log__when_all_was_said__then_no_secret_stands_in_it(self):
        self.http.put("/v1/products/2", {"name": "body-text-marker", "price": 1}, headers=bearer("stocker"))
        self.http.post("/v1/orders", ORDER, headers={**bearer("buyer"), "Idempotency-Key": "key-marker"})
        text = self.service.text()
        hidden = [secret_of(n) for n in ("buyer", "stocker", "boss", "eyes", "locker")] + ["body-text-marker"]
        hidden += [self.stack.mysql.password] if self.stack.mysql.password else []
        self.assertEqual([s for s in hidden if s in text], [])
        self.assertEqual(self.service.noise(), [], "every line is a JSON object with an event")
        for line in self.service.log():
            self.assertTrue({"ts", "level", "event"} <= set(line), line)


class Starts(Case):
    """What the service refuses to start with; a refusal is a sentence and an exit status, at once."""

    INSTANCES = 0

    def refused(self, settings, *words, command="serve"):
        base = {"LOCKSTOCK_LISTEN": f"127.0.0.1:{free_port()}", "LOCKSTOCK_MYSQL_URL": self.db.url(),
                "LOCKSTOCK_REDIS_URL": self.redis.url}
        done = service_module.run([command], {**base, **settings}, 10)
        self.assertNotEqual(done.returncode, 0)
        self.assertGreaterEqual(done.returncode, 1, f"died of a signal: {done.returncode}")
        said = done.stdout + done.stderr
        for word in words:
            self.assertIn(word, said)
        return said

    def test_listen__when_beyond_loopback_without_tokens__then_refused_unless_named(self):
        port = free_port()
        self.refused({"LOCKSTOCK_LISTEN": f"0.0.0.0:{port}"}, "LOCKSTOCK_ALLOW_ANONYMOUS")
        service = self.instance("open", env={"LOCKSTOCK_LISTEN": f"0.0.0.0:{port}", "LOCKSTOCK_ALLOW_ANONYMOUS": 1})
        service.port = port
        service.start()
        self.assertEqual(service.get("/v1/orders").status, 200)

    def test_listen__when_beyond_loopback_with_tokens__then_it_serves(self):
        path = os.path.join(self.stack.folder, "wide-tokens.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(tokens(("buyer", ["orders"])), file)
        port = free_port()
        service = self.instance("wide", env={"LOCKSTOCK_LISTEN": f"0.0.0.0:{port}", "LOCKSTOCK_TOKENS_FILE": path})
        service.port = port
        service.start()
        self.assertEqual(service.get("/v1/orders").status, 401)

    def test_settings__when_wrong__then_the_sentence_names_them(self):
        self.refused({"LOCKSTOCK_TRAIN_MAXX": "1"}, "LOCKSTOCK_TRAIN_MAXX")
        self.refused({"LOCKSTOCK_TRAIN_MAX": "0"}, "LOCKSTOCK_TRAIN_MAX", "4096")
        self.refused({"LOCKSTOCK_TRAIN_MAX": "many"}, "LOCKSTOCK_TRAIN_MAX")
        self.refused({"LOCKSTOCK_RESERVATION_TTL": "30"}, "LOCKSTOCK_RESERVATION_TTL")
        self.refused({"LOCKSTOCK_LOG_LEVEL": "loud"}, "LOCKSTOCK_LOG_LEVEL")
        said = self.refused({"LOCKSTOCK_MYSQL_URL": "http://u:hidden-word@h/x"}, "LOCKSTOCK_MYSQL_URL")
        self.assertNotIn("hidden-word", said)

    def test_tokens__when_the_file_is_missing_or_broken__then_refused(self):
        path = os.path.join(self.stack.folder, "bad-tokens.json")
        self.refused({"LOCKSTOCK_TOKENS_FILE": path + ".none"}, path)
        for text in ("{", '{"tokens":[{"name":"a","sha256":"12","scopes":["orders"]}]}',
                     '{"tokens":[{"name":"a","sha256":"%s","scopes":["flying"]}]}' % ("0" * 64),
                     '{"tokens":[{"name":"a","token":"plain","scopes":["orders"]}]}'):
            with self.subTest(text=text):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                self.refused({"LOCKSTOCK_TOKENS_FILE": path})

    def test_listen__when_the_port_is_taken__then_refused(self):
        service = self.instance("first").start()
        self.refused({"LOCKSTOCK_LISTEN": f"127.0.0.1:{service.port}"}, str(service.port))

    def test_secret__when_in_a_file__then_it_is_read_from_there(self):
        path = os.path.join(self.stack.folder, "mysql-url")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.db.url() + "\n")
        service = self.instance("file", env={"LOCKSTOCK_MYSQL_URL": None, "LOCKSTOCK_MYSQL_URL_FILE": path}).start()
        self.assertEqual(service.get("/v1/orders").status, 200)


class Anonymous(Case):
    """Without a token file everybody on this machine may do everything, but no web page may make them."""

    def get(self, path="/v1/orders", **headers):
        return self.http.get(path, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def test_host__when_a_loopback_name__then_served(self):
        for host in ("localhost", f"localhost:{self.service.port}", "127.0.0.1", "LocalHost:80", "[::1]:8080"):
            with self.subTest(host=host):
                self.assertEqual(self.get(Host=host).status, 200)

    def test_host__when_any_other__then_sys_004(self):
        for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "0.0.0.0"):
            with self.subTest(host=host):
                self.assert_problem(self.get(Host=host), 403, "SYS-004")

    def test_origin__when_another_site__then_sys_004_and_nothing_left(self):
        with self.nothing_left():
            for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
                with self.subTest(headers=headers):
                    reply = self.http.put("/v1/products/1", PRODUCT, headers=headers)
                    self.assert_problem(reply, 403, "SYS-004")
        self.assertEqual(self.get(Origin="http://localhost:3000").status, 200)
        self.assertEqual(self.get(Sec_Fetch_Site="same-origin").status, 200)

    def test_scope__when_anonymous__then_admin_too(self):
        self.assert_problem(self.http.post("/v1/compensations/1/resolve"), 404, "SYS-013")

    def test_body__when_it_stops_half_way__then_the_connection_is_cut_and_others_are_served(self):
        slow = Http(self.service.port)
        self.addCleanup(slow.close)
        slow._connect()  # pylint: disable=protected-access
        slow._socket.sendall(b"POST /v1/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                             b"Content-Length: 100\r\n\r\n{")
        self.assertEqual(self.get().status, 200)


if __name__ == "__main__":
    main()
