"""The part of the contract walk that is about the outbox."""

NO_EVENT = "00000000-0000-7000-8000-000000000000"
AT = "/v1/outbox"


class OutboxWalk:
    """For Walk: self.walk, self.pages, self.db."""

    def walk_outbox(self):
        self.pages(AT)
        self.walk(200, "GET", AT + "?status=PENDING")
        self.walk(400, "GET", AT + "?status=LOST", code="SYS-003")
        event = self.db.rows("SELECT id, event_id FROM outbox_events ORDER BY id LIMIT 1")[0]
        one = f"{AT}/{event['event_id']}"
        self.db.run("INSERT INTO outbox_failures (sink, id, part, aggregate_id, status, attempts, available_at, error,"
                    " created_at) VALUES ('kafka', %s, 0, 'walk', 'FAILED', 5, UTC_TIMESTAMP(6), 'no', UTC_TIMESTAMP(6))",
                    event["id"])
        self.assertEqual(self.walk(200, "GET", one).json["failures"][0]["status"], "FAILED")
        self.assertEqual(self.walk(200, "POST", AT + "/replay", {"status": "FAILED"}).json, {"replayed": 1})
        self.walk(400, "POST", AT + "/replay", {"status": "PENDING"}, "SYS-003")
        self.assertEqual(self.walk(200, "POST", one + "/replay").json["failures"][0]["attempts"], 0)
        self.assertEqual(self.walk(200, "POST", one + "/discard").json["status"], "DISCARDED")
        for method, path in (("GET", ""), ("POST", "/replay"), ("POST", "/discard")):
            self.walk(404, method, f"{AT}/{NO_EVENT}{path}", code="EVT-001")
        self.db.run("DELETE FROM outbox_failures")
