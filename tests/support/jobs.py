"""Workers of a queue, as tests need them."""

import threading
import urllib.parse


def path_of(queue, *parts):
    return "/".join([f"/v1/queues/{urllib.parse.quote(queue, safe='')}", *map(str, parts)])


class Worker:
    """Claims and ends jobs of one queue through one client."""

    def __init__(self, http, queue, name="w"):
        self.http, self.queue, self.name = http, queue, name
        self.had, self.done, self.lost = [], [], []

    def claim(self, limit=1, lease_ms=30000):
        reply = self.http.post(path_of(self.queue, "claims"), {"limit": limit, "leaseMs": lease_ms, "owner": self.name})
        assert reply.status == 200, reply
        self.had += reply.json["jobs"]
        return reply.json["jobs"]

    def end(self, job, how="complete", **body):
        return self.http.post(path_of(self.queue, "jobs", job["id"], how),
                              {"claimToken": job["claimToken"], "lastResult": self.name, **body})

    def complete(self, job):
        """True: this claim did it."""
        reply = self.end(job)
        assert reply.status in (200, 410), reply
        (self.done if reply.status == 200 else self.lost).append(job["id"])
        return reply.status == 200

    def run(self, limit=10, lease_ms=30000):
        """Until nothing is to be had."""
        while jobs := self.claim(limit, lease_ms):
            for job in jobs:
                self.complete(job)


def side_by_side(*calls):
    """All of them, begun at one moment; the first fault is raised."""
    gate, faults = threading.Barrier(len(calls)), []

    def run(call):
        try:
            gate.wait(30)
            call()
        except BaseException as fault:  # pylint: disable=broad-except
            faults.append(fault)

    threads = [threading.Thread(target=run, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    if faults:
        raise faults[0]
