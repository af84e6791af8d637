"""Closed-loop load in a process of its own: every connection has one request on its way, as fast as answers come.

Reads one JSON object on stdin:
  targets   [[host, port], …]      connection i goes to target i modulo their number
  connections, seconds             how many, how long (a SIGTERM ends it earlier)
  bodies    ["…", …]               bodies of POST /v1/orders, drawn at random
  seed, keyed                      keyed: each request carries an Idempotency-Key of its own
  reconnect                        false: a connection that ends stays ended
Writes {"answered": n} about ten times a second and the result as the last line:
  status {"201": n}, codes {"PRD-002": n}, orders [[key, id], …] of the 201s, lost [key, …] (sent, never answered),
  refused n (could not connect), p50/p99/max in ms, seconds, per_target [[201s], …], no_retry_after n (503 without it)
"""

import json
import random
import re
import select
import signal
import socket
import sys
import time

CODE = re.compile(rb'"code":\s*"([A-Z0-9-]+)"')
ORDER_ID = re.compile(rb'"id":\s*(\d+)')
LENGTH = re.compile(rb"content-length: *(\d+)", re.I)
REFUSED_PAUSE_S = 0.05


class Connection:
    def __init__(self, run, number):
        self.run, self.target = run, number % len(run.targets)
        self.socket, self.buffer, self.key, self.begun = None, b"", None, 0.0
        self.retry_at = 0.0

    def open(self):
        try:
            self.socket = socket.create_connection(tuple(self.run.targets[self.target]), 5)
        except OSError:
            self.run.refused += 1
            self.retry_at = time.monotonic() + REFUSED_PAUSE_S
            return False
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.run.poll.register(self.socket, select.EPOLLIN)
        self.run.by_fd[self.socket.fileno()] = self
        return True

    def close(self):
        self.run.poll.unregister(self.socket)
        del self.run.by_fd[self.socket.fileno()]
        self.socket.close()
        self.socket = None

    def send(self):
        self.key, request = self.run.next_request()
        self.begun = time.monotonic()
        try:
            self.socket.sendall(request)
        except OSError:
            self.lose()

    def lose(self):
        """The request went out, in part at least, and no answer came."""
        self.close()
        if self.key is not None:
            self.run.lost.append(self.key)
            self.key = None

    def read(self):
        try:
            data = self.socket.recv(65536)
        except OSError:
            data = b""
        if not data:
            return self.lose()
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = self.buffer[:end]
        length = LENGTH.search(head)
        size = end + 4 + (int(length[1]) if length else 0)
        if len(self.buffer) < size:
            return None
        self.run.answer(self, head, self.buffer[end + 4:size])
        self.buffer, self.key = self.buffer[size:], None
        if b"connection: close" in head.lower():
            self.close()
        elif not self.run.over:
            self.send()
        return None


class Run:
    def __init__(self, spec):
        self.targets, self.bodies = spec["targets"], [b.encode() for b in spec["bodies"]]
        self.keyed, self.reconnect = spec.get("keyed", False), spec.get("reconnect", True)
        self.random = random.Random(spec["seed"])
        self.seed, self.sequence, self.over = spec["seed"], 0, False
        self.poll, self.by_fd = select.epoll(), {}
        self.status, self.codes, self.orders, self.lost, self.latency = {}, {}, [], [], []
        self.refused = self.no_retry_after = 0
        self.per_target = [0] * len(self.targets)
        self.connections = [Connection(self, n) for n in range(spec["connections"])]
        self.seconds = spec["seconds"]

    def next_request(self):
        self.sequence += 1
        key = f"{self.seed}-{self.sequence}"
        body = self.random.choice(self.bodies)
        name = b"Idempotency-Key: %s\r\n" % key.encode() if self.keyed else b""
        return key, (b"POST /v1/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%s"
                     b"Content-Length: %d\r\n\r\n%s" % (name, len(body), body))

    def answer(self, connection, head, body):
        status = head[9:12].decode()
        self.status[status] = self.status.get(status, 0) + 1
        self.latency.append(time.monotonic() - connection.begun)
        if status == "201":
            self.per_target[connection.target] += 1
            self.orders.append([connection.key, int(ORDER_ID.search(body)[1])])
            return
        code = CODE.search(body)
        name = code[1].decode() if code else "none"
        self.codes[name] = self.codes.get(name, 0) + 1
        if status == "503" and b"retry-after:" not in head.lower():
            self.no_retry_after += 1

    def start(self, connection):
        if connection.open():
            connection.send()

    def go(self):
        begun = told = time.monotonic()
        for connection in self.connections:
            self.start(connection)
        while True:
            now = time.monotonic()
            self.over = self.over or now - begun >= self.seconds
            if self.over and (not any(c.key for c in self.connections) or now - begun > self.seconds + 10):
                break
            for fd, _ in self.poll.poll(0.02):
                if fd in self.by_fd:
                    self.by_fd[fd].read()
            if not self.over and self.reconnect:
                for connection in self.connections:
                    if not connection.socket and now >= connection.retry_at:
                        self.start(connection)
            if now - told > 0.1:
                told = now
                print(json.dumps({"answered": len(self.latency)}), flush=True)
        for connection in self.connections:
            if connection.socket and connection.key:
                connection.lose()
        return time.monotonic() - begun

    def result(self, seconds):
        ordered = sorted(self.latency) or [0.0]
        at = lambda share: round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000, 1)
        return {"status": self.status, "codes": self.codes, "orders": self.orders, "lost": self.lost,
                "refused": self.refused, "no_retry_after": self.no_retry_after, "per_target": self.per_target,
                "p50": at(0.5), "p99": at(0.99), "max": at(1), "seconds": seconds, "answered": len(self.latency)}


def main():
    run = Run(json.load(sys.stdin))

    def stop(*_):
        run.over = True

    signal.signal(signal.SIGTERM, stop)
    print(json.dumps(run.result(run.go())), flush=True)


if __name__ == "__main__":
    main()
