"""Kafka as the tests need it: librdkafka's mock cluster, and a reader of topics."""

import json
import os
import subprocess
import threading

from .service import ROOT, binary
from .sunk import TYPES


def tool(name):
    """A program of tests/support, beside the service's binary."""
    beside = os.path.join(os.path.dirname(binary()), name)
    return beside if os.access(beside, os.X_OK) else os.path.join(ROOT, "build", name)


class Mock:
    """One broker that can be taken down and up; what it held stays."""

    def __init__(self):
        self._process = subprocess.Popen([tool("kafka_mock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.brokers = self._process.stdout.readline().strip()

    def _say(self, word):
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if answer != "Success":
            raise RuntimeError(answer)

    def down(self):
        self._say("down")

    def up(self):
        self._say("up")

    def end(self):
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


class Tail:
    """Reads topics from their beginning on a thread."""

    def __init__(self, brokers, types=TYPES):
        self._process = subprocess.Popen([tool("kafka_tail"), brokers, *types], stdout=subprocess.PIPE, text=True)
        self._heard = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self._process.stdout:
            topic, partition, offset, key, headers, value = line.rstrip("\n").split("\t", 5)
            # Within a topic and key offsets tell the order; between topics the order of reading does not.
            self._heard.append(dict(json.loads(value), topic=topic, at=(0, int(offset)), partition=int(partition),
                                    key=key, headers=dict(h.split("=", 1) for h in headers.split(",") if h)))

    def received(self):
        """Envelopes so far, each topic's in its order."""
        return sorted(self._heard, key=lambda e: e["at"])

    def end(self):
        self._process.kill()
        self._process.wait()
        self._thread.join()
        self._process.stdout.close()


class Feed:
    """Writes to topics, each message once the one before is there."""

    def __init__(self, brokers):
        self._process = subprocess.Popen([tool("kafka_feed"), brokers], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True)

    def put(self, topic, key, value, traceparent=""):
        self._process.stdin.write("\t".join((topic, key, traceparent, value)) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if answer != "ok":
            raise RuntimeError(answer)

    def end(self):
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
