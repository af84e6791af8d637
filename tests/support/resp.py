"""A Redis client small enough to read: commands, scripts, subscriptions, and the lock of a Java neighbour."""

import socket
import threading
import time
import uuid


class RespError(Exception):
    pass


class Resp:
    """One connection. Strings come back as str, nil as None."""

    def __init__(self, port, timeout_s=10.0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout_s)
        self.file = self.socket.makefile("rb")

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, *command):
        parts = [str(part).encode() for part in command]
        self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))

    def receive(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("Redis closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return RespError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode("utf-8", "replace")
        return None if rest == b"-1" else [self.receive() for _ in range(int(rest))]

    def call(self, *command):
        self.send(*command)
        reply = self.receive()
        if isinstance(reply, RespError):
            raise reply
        return reply


class Subscriber:
    """Hears one channel on a thread; messages() is what was heard so far."""

    def __init__(self, redis, channel, on_message=None):
        self._client, self._heard, self._on_message = Resp(redis.port, 60), [], on_message
        self._client.call("SUBSCRIBE", channel)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        try:
            while True:
                kind, _, payload = self._client.receive()
                if kind == "message":
                    self._heard.append(payload)
                    if self._on_message:
                        self._on_message(payload)
        except (OSError, ValueError, TypeError):
            return

    def messages(self):
        return list(self._heard)

    def close(self):
        self._client.socket.shutdown(socket.SHUT_RDWR)


# The wire form of an RLock (reference: Redisson): a hash of owner -> holds, a lease, a message when it goes.
_ACQUIRE = """
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return redis.call('pttl', KEYS[1])
end
redis.call('hincrby', KEYS[1], ARGV[2], 1)
redis.call('pexpire', KEYS[1], ARGV[1])
return false
"""
_RELEASE = """
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return -1 end
redis.call('del', KEYS[1])
return redis.call('publish', KEYS[2], '0')
"""


def lock_channel(name):
    return "redisson_lock__channel:{" + name + "}"


class JavaLock:
    """A neighbour that locks as Redisson does: try; subscribe; try again, and then each time a release was heard, after
    the moment its threads need to wake (reaction_s); unsubscribe."""

    def __init__(self, redis, name, lease_ms=30000, reaction_s=0.0):
        self.redis, self.name, self.lease_ms, self.reaction_s = redis, name, lease_ms, reaction_s
        self.owner = f"{uuid.uuid4()}:1"
        self._client = redis.client()

    def try_once(self):
        return self._client.call("EVAL", _ACQUIRE, 1, self.name, self.lease_ms, self.owner) is None

    def take(self, timeout_s):
        """True once it is ours."""
        if self.try_once():
            return True
        woken, deadline = threading.Event(), time.monotonic() + timeout_s
        subscriber = Subscriber(self.redis, lock_channel(self.name), lambda _: woken.set())
        try:
            while not self.try_once():
                if not woken.wait(max(0.0, deadline - time.monotonic())):
                    return False
                woken.clear()
                time.sleep(self.reaction_s)
            return True
        finally:
            subscriber.close()

    def release(self):
        return self._client.call("EVAL", _RELEASE, 2, self.name, lock_channel(self.name), self.owner)

    def close(self):
        self._client.close()
