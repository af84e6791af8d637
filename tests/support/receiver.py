"""A receiver of webhooks: an HTTP server on loopback that remembers what came, and answers as it is told."""

import base64
import hashlib
import hmac
import http.server
import json
import select
import threading
import time

import pymysql

TOLERANCE_S = 300


def verify(secret, headers, body, now=None):
    """As the Standard Webhooks libraries do: signature over the raw body, and not older than five minutes."""
    sent_at = int(headers["webhook-timestamp"])
    if abs((time.time() if now is None else now) - sent_at) > TOLERANCE_S:
        raise AssertionError(f"the timestamp {sent_at} is too old or too new")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{headers['webhook-id']}.{sent_at}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    if not any(hmac.compare_digest(expected, one) for one in headers["webhook-signature"].split(" ")):
        raise AssertionError("no signature fits")


def due_now(db):
    """What waits for its next attempt is due, instead of in minutes. A deadlock with a settle: the caller comes again."""
    try:
        db.run("UPDATE webhook_deliveries SET due_at=UTC_TIMESTAMP(6) WHERE status='PENDING' AND lease_until IS NULL")
    except pymysql.err.OperationalError as error:
        if error.args[0] != 1213:
            raise


class Delivery:
    def __init__(self, path, headers, body):
        self.path, self.body, self.at = path, body, time.monotonic()
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.id = self.headers.get("webhook-id")

    @property
    def json(self):
        return json.loads(self.body)


class Receiver:
    """answer(delivery) → status, or (status, headers), or None to hang until the end; default 204 for everything."""

    def __init__(self, answer=None):
        self.answer = answer or (lambda delivery: 204)
        self.deliveries = []
        self.now, self.together = 0, 0  # requests being answered; the most there ever were
        self.counting = threading.Lock()
        self.ended = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                delivery = Delivery(self.path, self.headers, body)
                receiver.deliveries.append(delivery)
                receiver.count(1)
                try:
                    self.answer(receiver.answer(delivery))
                finally:
                    receiver.count(-1)

            def answer(self, answer):
                if answer is None:
                    while not receiver.ended.wait(0.02) and not select.select([self.connection], [], [], 0)[0]:
                        pass  # until the other side gives up
                    self.close_connection = True
                    return
                status, headers = answer if isinstance(answer, tuple) else (answer, {})
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *args):  # pylint: disable=arguments-differ
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def count(self, by):
        with self.counting:
            self.now += by
            self.together = max(self.together, self.now)

    def url(self, path="/hook", host="127.0.0.1"):
        return f"http://{host}:{self.port}{path}"

    def ids(self):
        return [delivery.id for delivery in list(self.deliveries)]

    def close(self):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
