"""Waiting is polling with a deadline; chance comes from one printed seed."""

import os
import random
import socket
import sys
import time

# Slow builds (sanitizers, valgrind) stretch every deadline of the tests, never what the service is asked to promise.
SLOW = float(os.environ.get("LOCKSTOCK_TEST_SLOW", "1"))
SEED = int(os.environ.get("LOCKSTOCK_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 2**31)
RANDOM = random.Random(SEED)
print(f"seed: LOCKSTOCK_TEST_SEED={SEED}", file=sys.stderr)

POLL_S = 0.01
# Below the ephemeral range, so that no client's TIME_WAIT can sit on a server's port.
PORT_MIN, PORT_MAX = 20000, 32000


def eventually(probe, timeout_s=10.0, what="condition"):
    """The first truthy answer of probe(); AssertionError with the last one when the deadline passes."""
    deadline = time.monotonic() + timeout_s * SLOW
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {timeout_s} s (last: {value!r})")
        time.sleep(POLL_S)


def holds_for(probe, duration_s, what="condition"):
    """probe() stays truthy for this long."""
    end = time.monotonic() + duration_s
    while time.monotonic() < end:
        if not probe():
            raise AssertionError(f"{what}: did not hold for {duration_s} s")
        time.sleep(POLL_S)


def free_port():
    """A loopback port nobody listens on. Not drawn from RANDOM: a repeated seed must not repeat a port in use."""
    for _ in range(200):
        port = random.SystemRandom().randrange(PORT_MIN, PORT_MAX)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port")


def accepts(port):
    """Something listens on this loopback port."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0
