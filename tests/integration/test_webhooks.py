"""Webhooks: /v1/webhooks, and what reaches a receiver: signed at each attempt, in order per aggregate, on the schedule of
Standard Webhooks, and never to an address that is not the Internet's unless that is allowed."""

import os
import re
import subprocess
import sys
import tempfile
import uuid

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.receiver import Receiver, due_now, verify
from support.service import ROOT
from support.wait import eventually, holds_for

TYPES = ["order.created", "order.cancelled", "order.payment_requested", "order.status_changed", "payment.completed",
         "payment.failed", "payment.refund_required", "stock.changed", "stock.reservation.result"]
PRIVATE_URLS = ["http://169.254.169.254/latest/meta-data", "http://localhost:9/", "http://LOCALHOST/", "http://a.localhost/",
                "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[fe80::1]/", "http://[fd00:ec2::254]/",
                "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/", "http://0/",
                "http://10.0.0.1/", "http://192.168.1.1/", "http://172.16.0.1/", "http://100.100.100.200/"]


class WebhookCase(Case):
    ENV = {"LOCKSTOCK_SINKS": "redis-stream,webhook", "LOCKSTOCK_WEBHOOK_ALLOW_PRIVATE": "1",
           "LOCKSTOCK_WEBHOOK_TIMEOUT_MS": "2000"}

    def receiver(self, answer=None):
        receiver = Receiver(answer)
        self.addCleanup(receiver.close)
        return receiver

    def webhook(self, url, types=None):
        body = {"url": url} | ({"eventTypes": types} if types else {})
        reply = self.http.post("/v1/webhooks", body)
        self.assertEqual(reply.status, 201, reply)
        self.addCleanup(self.http.request, "DELETE", f"/v1/webhooks/{reply.json['id']}")
        return reply.json

    def put_delivery(self, webhook, key="1", status="PENDING", body='{"a":1}', age_s=0, attempts=0):
        """A row as the fan-out writes it; its event id."""
        event_id = str(uuid.uuid4())
        self.db.run(
            "INSERT INTO webhook_deliveries (webhook_id, event_id, event_type, aggregate_id, open_key, body, traceparent,"
            " status, attempts, created_at, due_at) VALUES (%s, %s, 'order.created', %s, %s, %s,"
            " '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', %s, %s, UTC_TIMESTAMP(6) - INTERVAL %s SECOND,"
            " IF(%s = 'PENDING', UTC_TIMESTAMP(6), NULL))",
            webhook["id"], event_id, key, key, body, status, attempts, age_s, status)
        return event_id

    def row(self, event_id):
        return self.db.rows("SELECT * FROM webhook_deliveries WHERE event_id=%s", event_id)[0]

    def deliveries(self, webhook, **query):
        path = f"/v1/webhooks/{webhook['id']}/deliveries?" + "&".join(f"{k}={v}" for k, v in query.items())
        reply = self.http.get(path.rstrip("?"))
        self.assertEqual(reply.status, 200, reply)
        return reply.json["items"]

    def wait_status(self, event_id, status, timeout_s=10):
        return eventually(lambda: self.row(event_id) if self.row(event_id)["status"] == status else None, timeout_s,
                          f"{status}: {self.row(event_id)}")


class Api(WebhookCase):

    def test_post__when_new__then_201_with_the_secret_once(self):
        made = self.webhook("https://hooks.example/in", ["order.created", "payment.completed"])
        self.assertTrue(made["secret"].startswith("whsec_"), made)
        reply = self.http.get(f"/v1/webhooks/{made['id']}")
        self.assertEqual(reply.status, 200, reply)
        expected = {k: v for k, v in made.items() if k != "secret"}
        self.assertEqual(reply.json, expected)
        self.assertEqual(expected["eventTypes"], ["order.created", "payment.completed"])
        self.assertIn(expected, self.http.get("/v1/webhooks").json["items"])
        for one in self.services:
            self.assertNotIn(made["secret"], one.text())

    def test_post__when_no_types__then_all(self):
        self.assertEqual(self.webhook("https://hooks.example/in")["eventTypes"], TYPES)

    def test_post__when_odd__then_400_and_the_field(self):
        for body, pointer in [
                ({}, "#/url"), ({"url": "ftp://a.example"}, "#/url"), ({"url": "a.example"}, "#/url"),
                ({"url": "http://u:p@a.example/"}, "#/url"), ({"url": "file:///etc/passwd"}, "#/url"),
                ({"url": "gopher://a.example/"}, "#/url"), ({"url": "http://169.254.169.254/"}, "#/url"),
                ({"url": "http://a.example/" + "x" * 2048}, "#/url"),
                ({"url": "https://a.example", "eventTypes": ["order.created", "nope"]}, "#/eventTypes/1"),
                ({"url": "https://a.example", "more": 1}, "#/more")]:
            problem = self.assert_problem(self.http.post("/v1/webhooks", body), 400, "SYS-003")
            self.assertEqual(problem["errors"][0]["pointer"], pointer, body)
        self.assertEqual(self.db.count("webhooks", "url LIKE '%a.example%'"), 0)

    def test_list__when_paged__then_each_once(self):
        made = [self.webhook(f"https://hooks.example/{i}")["id"] for i in range(5)]
        seen, cursor = [], ""
        while cursor is not None:
            page = self.http.get("/v1/webhooks?limit=2" + (f"&cursor={cursor}" if cursor else "")).json
            seen += [item["id"] for item in page["items"]]
            cursor = page["nextCursor"]
        self.assertEqual([one for one in seen if one in made], sorted(made))
        self.assert_problem(self.http.get("/v1/webhooks?cursor=zz"), 400, "SYS-003")

    def test_delete__when_there__then_204_and_nothing_is_sent_and_its_rows_go(self):
        receiver = self.receiver()
        made = self.webhook(receiver.url())
        self.assertEqual(self.http.request("DELETE", f"/v1/webhooks/{made['id']}").status, 204)
        for method, path in [("GET", ""), ("DELETE", ""), ("GET", "/deliveries"), ("POST", "/deliveries/1/replay")]:
            reply = self.http.request(method, f"/v1/webhooks/{made['id']}{path}")
            self.assert_problem(reply, 404, "SYS-013")
        self.put_delivery(made)
        holds_for(lambda: not receiver.deliveries, 1.5, "nothing sent")

    def test_unknown__then_404(self):
        for one in ("x", "00000000-0000-0000-0000-000000000000", "é", "%00"):
            self.assertIn(self.http.get(f"/v1/webhooks/{one}").status, (400, 404))

    def test_replay__when_odd__then_told(self):
        made = self.webhook("https://hooks.example/in")
        at = f"/v1/webhooks/{made['id']}/deliveries"
        self.assert_problem(self.http.post(at + "/1/replay", {"x": 1}), 400, "SYS-003")
        self.assert_problem(self.http.post(at + "/x/replay"), 400, "SYS-003")
        self.assert_problem(self.http.post(at + "/999999999/replay"), 404, "SYS-013")
        self.assert_problem(self.http.get(at + "?status=LOST"), 400, "SYS-003")


class Sending(WebhookCase):

    def test_delivery__when_taken__then_signed_and_done(self):
        receiver = self.receiver()
        made = self.webhook(receiver.url("/a?b=c"))
        event_id = self.put_delivery(made, body='{"ü":1}')
        row = self.wait_status(event_id, "DELIVERED")
        self.assertEqual((row["attempts"], row["last_status"], row["open_key"], row["due_at"]), (1, 204, None, None))
        (got,) = receiver.deliveries
        self.assertEqual((got.path, got.id, got.body.decode()), ("/a?b=c", event_id, '{"ü":1}'))
        self.assertEqual(got.headers["content-type"], "application/json")
        self.assertEqual(got.headers["traceparent"], "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        verify(made["secret"], got.headers, got.body)
        with self.assertRaises(AssertionError):
            verify(made["secret"], got.headers, got.body + b" ")

    def test_recipe__when_a_signature_is_made_by_hand__then_it_is_ours(self):
        with open(os.path.join(ROOT, "docs", "recipes.md"), encoding="utf-8") as file:
            by_hand = re.search(r"^## Receive a webhook\n.*?^```sh\n(.*?)^```$", file.read(), re.M | re.S)[1]
        receiver = self.receiver()
        made = self.webhook(receiver.url())
        self.wait_status(self.put_delivery(made), "DELIVERED")
        (got,) = receiver.deliveries
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "body"), "wb") as file:
                file.write(got.body)
            names = {"secret": made["secret"], "id": got.id, "timestamp": got.headers["webhook-timestamp"]}
            done = subprocess.run(["sh", "-c", by_hand], cwd=folder, env=os.environ | names, capture_output=True, text=True,
                                  check=True)
        self.assertEqual("v1," + done.stdout.strip(), got.headers["webhook-signature"])

    def test_retry__when_more_than_five_minutes_later__then_signed_anew_with_the_same_id(self):
        receiver = self.receiver(lambda delivery: 204 if len(receiver.deliveries) > 1 else 500)
        made = self.webhook(receiver.url())
        event_id = self.put_delivery(made, age_s=3600)
        row = eventually(lambda: self.row(event_id) if self.row(event_id)["attempts"] == 1 else None, 10, "one attempt")
        self.assertEqual((row["status"], row["last_status"], row["last_error"]), ("PENDING", 500, "HTTP 500"))
        wait_s = self.db.value("SELECT TIMESTAMPDIFF(MICROSECOND, attempted_at, due_at) / 1e6 FROM webhook_deliveries"
                               " WHERE event_id=%s", event_id)
        self.assertTrue(5 <= float(wait_s) < 5.6, wait_s)
        self.db.run("UPDATE webhook_deliveries SET due_at=UTC_TIMESTAMP(6) WHERE event_id=%s", event_id)
        self.wait_status(event_id, "DELIVERED")
        first, second = receiver.deliveries
        self.assertEqual(first.id, second.id)
        for got in (first, second):
            verify(made["secret"], got.headers, got.body)

    def test_attempts__when_used_up__then_failed_and_visible_and_the_next_of_its_key_goes(self):
        receiver = self.receiver(lambda delivery: 400 if delivery.id == bad else 204)
        made = self.webhook(receiver.url())
        bad = self.put_delivery(made, attempts=9)
        behind = self.put_delivery(made, status="HELD")
        self.wait_status(bad, "FAILED")
        self.wait_status(behind, "DELIVERED")
        (failed,) = self.deliveries(made, status="FAILED")
        self.assertEqual((failed["eventId"], failed["attempts"], failed["lastStatus"], failed["lastError"]),
                         (bad, 10, 400, "HTTP 400"))
        reply = self.http.post(f"/v1/webhooks/{made['id']}/deliveries/{failed['id']}/replay")
        self.assertEqual((reply.status, reply.json["status"], reply.json["attempts"]), (200, "PENDING", 0), reply)
        eventually(lambda: receiver.ids().count(bad) == 2, 10, "sent again")

    def test_order__when_one_fails__then_its_key_waits_and_no_other(self):
        receiver = self.receiver(lambda delivery: 400 if delivery.id == bad and not healed else 204)
        made, healed = self.webhook(receiver.url()), []
        bad = self.put_delivery(made, key="a")
        behind = self.put_delivery(made, key="a", status="HELD")
        other = self.put_delivery(made, key="b")
        self.wait_status(other, "DELIVERED")
        eventually(lambda: self.row(bad)["attempts"] == 1, 10, "tried")
        self.assertEqual(self.row(behind)["status"], "HELD")
        healed.append(1)
        self.db.run("UPDATE webhook_deliveries SET due_at=UTC_TIMESTAMP(6) WHERE event_id=%s", bad)
        self.wait_status(behind, "DELIVERED")
        ids = receiver.ids()
        self.assertLess(ids.index(other), ids.index(behind))
        self.assertEqual(ids[-1], behind)

    def test_gone__when_410__then_disabled_and_nothing_more_is_sent(self):
        receiver = self.receiver(lambda delivery: 410)
        made = self.webhook(receiver.url())
        event_id = self.put_delivery(made)
        self.wait_status(event_id, "FAILED")
        reply = eventually(lambda: (r := self.http.get(f"/v1/webhooks/{made['id']}").json)["status"] == "DISABLED" and r,
                           10, "disabled")
        self.assertEqual(reply["disabledReason"], "the receiver answered 410")
        self.put_delivery(made, key="2")
        holds_for(lambda: len(receiver.deliveries) == 1, 1.5, "one request")

    def test_redirect__when_answered__then_not_followed(self):
        target = self.receiver()
        receiver = self.receiver(lambda delivery: (302, {"Location": target.url()}))
        event_id = self.put_delivery(self.webhook(receiver.url()))
        eventually(lambda: self.row(event_id)["attempts"] == 1, 10, "tried")
        self.assertEqual((self.row(event_id)["last_status"], target.deliveries), (302, []))

    def test_retry_after__when_the_receiver_names_it__then_honoured(self):
        receiver = self.receiver(lambda delivery: (429, {"Retry-After": "3600"}))
        event_id = self.put_delivery(self.webhook(receiver.url()))
        eventually(lambda: self.row(event_id)["attempts"] == 1, 10, "tried")
        wait_s = self.db.value("SELECT TIMESTAMPDIFF(SECOND, attempted_at, due_at) FROM webhook_deliveries"
                               " WHERE event_id=%s", event_id)
        self.assertGreaterEqual(wait_s, 3599)

    def test_slow_receivers__then_others_are_served_meanwhile(self):
        slow, quick = self.receiver(lambda delivery: None), self.receiver()
        hung, fine = self.webhook(slow.url()), self.webhook(quick.url())
        for key in range(40):
            self.put_delivery(hung, key=str(key))
        eventually(lambda: slow.deliveries, 10, "the slow one is asked")
        sent = [self.put_delivery(fine, key=str(key)) for key in range(40)]
        eventually(lambda: len(quick.deliveries) == 40, 10, "all at the quick one")
        self.assertEqual(sorted(quick.ids()), sorted(sent))
        self.assertLessEqual(len(slow.deliveries), 20, "a receiver in trouble is left alone for a while")
        self.assertLessEqual(slow.together, 2, "half of the threads at most")

    def test_stop__when_a_receiver_hangs__then_no_attempt_is_counted_and_the_stop_is_not_held_up(self):
        receiver = self.receiver(lambda delivery: None if len(receiver.deliveries) < 2 else 204)
        one = self.instance("b", env=self.ENV | {"LOCKSTOCK_WEBHOOK_TIMEOUT_MS": "60000"})
        self.service.stop()
        one.start()
        try:
            http = one.http()
            made = http.post("/v1/webhooks", {"url": receiver.url()}).json
            event_id = self.put_delivery(made)
            eventually(lambda: receiver.deliveries, 10, "asked")
            self.assertEqual(one.stop(), 0)
            self.assertEqual((self.row(event_id)["attempts"], self.row(event_id)["lease_until"]), (0, None))
        finally:
            one.kill()
            self.service.start()
        self.http = self.client()
        self.wait_status(event_id, "DELIVERED")


class FanOut(WebhookCase):
    """From an order to its receivers, by the relay."""

    def bought(self, count, product):
        """Orders made and cancelled again; their ids."""
        ids = []
        for _ in range(count):
            ids.append(self.ordered((product, 1))["id"])
            self.assertEqual(self.http.post(f"/v1/orders/{ids[-1]}/cancel", {"reason": "USER_REQUESTED"}).status, 200)
        return ids

    def arrived(self, receiver, ids):
        """order id → the types that came of it, in their order."""
        got = [d.json for d in list(receiver.deliveries)]
        return {i: [e["eventType"] for e in got if e["aggregateId"] == str(i)] for i in ids}

    def test_orders__when_made__then_each_receiver_has_what_it_wants_signed_and_in_order(self):
        orders, stock = self.receiver(), self.receiver()
        made = self.webhook(orders.url(), ["order.created", "order.cancelled"])
        self.webhook(stock.url(), ["stock.changed"])
        product = self.product(stock=50)
        ids = self.bought(10, product)
        whole = {i: ["order.created", "order.cancelled"] for i in ids}
        eventually(lambda: self.arrived(orders, ids) == whole, 20, "all orders, in order")
        eventually(lambda: stock.deliveries and stock.deliveries[-1].json["payload"]["stock"] == 50, 20, "stock")
        versions = [d.json["aggregateVersion"] for d in stock.deliveries]
        self.assertEqual(versions, sorted(versions))
        self.assertEqual({d.json["eventType"] for d in stock.deliveries}, {"stock.changed"})
        for got in orders.deliveries:
            verify(made["secret"], got.headers, got.body)
            self.assertEqual((got.json["eventId"], got.json["source"]), (got.id, "lockstock"))

    def test_receiver__when_away_for_a_while__then_everything_arrives_in_order(self):
        back = []
        receiver = self.receiver(lambda delivery: 204 if back else 503)
        made = self.webhook(receiver.url(), ["order.created", "order.cancelled"])
        ids = self.bought(5, self.product(stock=50))
        eventually(lambda: self.db.count("webhook_deliveries", "webhook_id=%s", made["id"]) == 10, 20, "fanned out")
        eventually(lambda: receiver.deliveries, 10, "asked")
        back.append(1)
        receiver.deliveries.clear()

        def all_there():
            due_now(self.db)
            return self.arrived(receiver, ids) == {i: ["order.created", "order.cancelled"] for i in ids}
        eventually(all_there, 30, "all, in order")


class NoOrder(FanOut):
    """Two threads send the two events of an order at the same time; the first one's request is slow."""
    FAULTS = "no-delivery-order"

    test_orders__when_made__then_each_receiver_has_what_it_wants_signed_and_in_order = None  # not this one

    def test_receiver__when_away_for_a_while__then_everything_arrives_in_order(self):
        """Removed: the first is refused, the second is not, and comes before it."""
        receiver = self.receiver(lambda delivery: 400 if delivery.json["eventType"] == "order.created" else 204)
        self.webhook(receiver.url(), ["order.created", "order.cancelled"])
        ids = self.bought(1, self.product(stock=50))
        eventually(lambda: "order.cancelled" in self.arrived(receiver, ids)[ids[0]], 20, "the second came")


class Guard(WebhookCase):
    """As shipped: private addresses are refused when a webhook is made, and when a name turns out to mean one."""
    ENV = {"LOCKSTOCK_SINKS": "webhook", "LOCKSTOCK_WEBHOOK_TIMEOUT_MS": "2000"}

    def test_post__when_a_private_address__then_400(self):
        for url in PRIVATE_URLS:
            problem = self.assert_problem(self.http.post("/v1/webhooks", {"url": url}), 400, "SYS-003")
            self.assertEqual(problem["errors"][0]["pointer"], "#/url", url)

    def test_name__when_it_means_a_private_address__then_nothing_is_sent(self):
        """The row is written as if the name had meant another address when the webhook was made."""
        receiver = self.receiver()
        made = self.webhook("https://hooks.example/in")
        for host in ("localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"):
            self.db.run("UPDATE webhooks SET url=%s WHERE id=%s", receiver.url(host=host), made["id"])
            event_id = self.put_delivery(made, key=host)
            row = eventually(lambda: self.row(event_id) if self.row(event_id)["attempts"] == 1 else None, 40, host)
            self.assertEqual(row["last_error"], "the address may not be asked from here")
        self.assertEqual(receiver.deliveries, [])

    def test_redirect_to_private__then_not_followed(self):
        """There is nothing to guard: no redirect is followed at all (Sending holds it)."""
        self.assertEqual(self.metric("lockstock_webhook_attempts_total", outcome="delivered"), 0)


class NoGuard(WebhookCase):
    FAULTS = "no-address-guard"
    ENV = {"LOCKSTOCK_SINKS": "webhook", "LOCKSTOCK_WEBHOOK_TIMEOUT_MS": "2000"}

    def test_removed__then_a_private_address_is_asked(self):
        receiver = self.receiver()
        event_id = self.put_delivery(self.webhook(receiver.url(host="localhost")))
        self.wait_status(event_id, "DELIVERED")


class NoReceiverLimit(WebhookCase):
    FAULTS = "no-receiver-limit"

    def test_removed__then_a_slow_receiver_takes_all_threads(self):
        slow = self.receiver(lambda delivery: None)
        hung = self.webhook(slow.url())
        for key in range(20):
            self.put_delivery(hung, key=str(key))
        eventually(lambda: slow.together == 4, 20, "all four threads")


class StaleSignature(WebhookCase):
    FAULTS = "stale-signature"

    def test_removed__then_a_late_retry_is_refused(self):
        receiver = self.receiver()
        made = self.webhook(receiver.url())
        self.wait_status(self.put_delivery(made, age_s=3600), "DELIVERED")
        with self.assertRaisesRegex(AssertionError, "too old"):
            verify(made["secret"], receiver.deliveries[0].headers, receiver.deliveries[0].body)


class NoSink(Case):
    """LOCKSTOCK_SINKS without webhook, as the default is."""

    def test_post__when_nothing_would_be_sent__then_the_log_says_so(self):
        reply = self.http.post("/v1/webhooks", {"url": "https://hooks.example/in"})
        self.assertEqual(reply.status, 201, reply)
        eventually(lambda: [line["requestId"] for line in self.service.log("webhook.no_sink")] ==
                   [reply.headers["x-request-id"]], 5, "webhook.no_sink is in the log")


if __name__ == "__main__":
    main()
