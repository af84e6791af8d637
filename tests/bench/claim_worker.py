"""claim_worker.py PORT QUEUE LIMIT WARMUP SECONDS: claims jobs and completes them, one request after the other, and writes
one JSON line: claims and jobs per second, latencies of claims and of completions in microseconds, what it completed."""

import http.client
import json
import sys
import time


def quantile(values, part):
    values = sorted(values)
    return values[min(int(len(values) * part), len(values) - 1)] if values else 0


class Worker:
    def __init__(self, port, queue, limit):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.base, self.limit = f"/v1/queues/{queue}", limit
        self.claims, self.ends, self.done = [], [], []

    def post(self, path, body):
        begun = time.monotonic_ns()
        self.connection.request("POST", self.base + path, json.dumps(body), {"Content-Type": "application/json"})
        reply = self.connection.getresponse()
        text = reply.read()
        if reply.status != 200:
            raise RuntimeError(f"{path}: {reply.status} {text}")
        return json.loads(text), (time.monotonic_ns() - begun) // 1000

    def round(self):
        answer, took = self.post("/claims", {"limit": self.limit, "leaseMs": 60000})
        self.claims.append(took)
        for job in answer["jobs"]:
            _, took = self.post(f"/jobs/{job['id']}/complete", {"claimToken": job["claimToken"]})
            self.ends.append(took)
            self.done.append(job["id"])
        if not answer["jobs"]:
            raise RuntimeError("the queue ran empty")

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.round()


def main():
    port, queue, limit, warmup, seconds = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
    worker = Worker(int(port), queue, limit)
    worker.run(warmup)
    before = len(worker.done)
    worker.claims, worker.ends = [], []
    begun = time.monotonic()
    worker.run(seconds)
    passed = time.monotonic() - begun
    print(json.dumps({"claims": len(worker.claims) / passed, "jobs": (len(worker.done) - before) / passed,
                      "done": worker.done, "p50": quantile(worker.claims, 0.5), "p99": quantile(worker.claims, 0.99),
                      "end_p50": quantile(worker.ends, 0.5)}))


if __name__ == "__main__":
    main()
