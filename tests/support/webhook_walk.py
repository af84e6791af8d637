"""The part of the contract walk that is about webhooks and their deliveries."""

NO_WEBHOOK = "00000000-0000-7000-8000-000000000000"
AT = "/v1/webhooks"


class WebhookWalk:
    """For Walk: self.walk, self.pages, self.db."""

    def walk_webhooks(self):
        body = {"url": "https://hooks.example/in", "eventTypes": ["order.created"]}
        one = AT + "/" + self.walk(201, "POST", AT, body).json["id"]
        self.walk(201, "POST", AT, {"url": body["url"]})
        self.walk(400, "POST", AT, {"url": "http://127.0.0.1/"}, "SYS-003")
        self.walk(200, "GET", one)
        self.webhook_pages()
        self.walk_deliveries(one)
        self.walk(204, "DELETE", one)
        self.walk(404, "GET", one, code="SYS-013")
        self.walk(404, "DELETE", one, code="SYS-013")
        self.walk(404, "GET", one + "/deliveries", code="SYS-013")
        self.walk(404, "POST", one + "/deliveries/1/replay", code="SYS-013")
        self.walk_full_of_webhooks(body)

    def webhook_pages(self):
        cursor = self.walk(200, "GET", AT + "?limit=1").json["nextCursor"]
        self.assertIsNone(self.walk(200, "GET", f"{AT}?limit=500&cursor={cursor}").json["nextCursor"])

    def walk_deliveries(self, one):
        for number, status in enumerate(("DELIVERED", "FAILED", "HELD")):
            self.db.run("INSERT INTO webhook_deliveries (webhook_id, event_id, event_type, aggregate_id, body, status,"
                        " created_at) VALUES (%s, %s, 'order.created', '1', '{}', %s, UTC_TIMESTAMP(6))",
                        one.rsplit("/", 1)[1], NO_WEBHOOK[:-1] + str(number), status)
        self.pages(one + "/deliveries")
        (failed,) = self.walk(200, "GET", one + "/deliveries?status=FAILED").json["items"]
        self.walk(400, "GET", one + "/deliveries?status=LOST", code="SYS-003")
        again = self.walk(200, "POST", f"{one}/deliveries/{failed['id']}/replay")
        self.assertEqual(again.json["status"], "PENDING")

    def walk_full_of_webhooks(self, body):
        self.db.run("INSERT INTO webhooks (id, url, event_types, secret, status, credential, created_at)"
                    " SELECT UUID(), 'u', '', '', 'DISABLED', 'c', UTC_TIMESTAMP(6) FROM outbox_events LIMIT 100")
        for _ in range(100 - self.db.count("webhooks", "status <> 'DELETED'")):
            self.walk(201, "POST", AT, body)
        self.walk(429, "POST", AT, body, "SYS-010")
