"""A payment service: an HTTP server on loopback that is asked for orders, and answers as it is told."""

import contextlib
import http.server
import json
import threading
import urllib.parse


def paid(order, key=None, **changes):
    return {"status": "PAID", "paymentKey": key or f"pay-{order['id']}", "amount": order["totalAmount"], **changes}


NOT_PAID = {"status": "NOT_PAID"}


class Provider:
    """answers: order id → what is answered, the last one for ever: a document (200), a status, raw bytes (200), or a
    threading.Event to wait for before the next one. What has no answers hangs up."""

    def __init__(self):
        self.answers, self.asked, self.lock = {}, [], threading.Lock()
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                answer = provider.next_answer(self.path)
                if answer is None:
                    self.close_connection = True
                    return
                status, body = answer
                with contextlib.suppress(OSError):  # who asked waits no more
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *args):  # pylint: disable=arguments-differ
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/status"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def tell(self, order, *answers):
        self.answers[order["id"]] = list(answers)

    def times_asked(self, order):
        return self.asked.count(order["id"])

    def _pop(self, order_id):
        with self.lock:
            queue = self.answers.get(order_id, [])
            return queue.pop(0) if len(queue) > 1 else queue[0] if queue else None

    def next_answer(self, path):
        order_id = int(urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)["orderId"][0])
        self.asked.append(order_id)
        answer = self._pop(order_id)
        while isinstance(answer, threading.Event):
            answer.wait(60)
            answer = self._pop(order_id)
        if isinstance(answer, int):
            return answer, b"{}"
        if isinstance(answer, dict):
            return 200, json.dumps(answer).encode()
        return None if answer is None else (200, answer)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
