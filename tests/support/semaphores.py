"""A semaphore of a Java neighbour, as Redisson's RPermitExpirableSemaphore keeps it."""

import secrets

_ACQUIRE = """
local ended = redis.call('zrangebyscore', KEYS[2], 0, ARGV[3], 'limit', 0, ARGV[1])
if #ended > 0 then
  redis.call('zrem', KEYS[2], unpack(ended))
  local free = redis.call('incrby', KEYS[1], #ended)
  if tonumber(free) > 0 then redis.call('publish', KEYS[3], free) end
end
local free = redis.call('get', KEYS[1])
if free ~= false and tonumber(free) >= tonumber(ARGV[1]) then
  redis.call('decrby', KEYS[1], ARGV[1])
  redis.call('zadd', KEYS[2], ARGV[2], (string.gsub(ARGV[4], '..', function(h) return string.char(tonumber(h, 16)) end)))
  local left = redis.call('pttl', KEYS[1])
  if left > 0 then redis.call('pexpire', KEYS[2], left) end
  return 1
end
return 0
"""
_RELEASE = """
local id = string.gsub(ARGV[1], '..', function(h) return string.char(tonumber(h, 16)) end)
if redis.call('zrem', KEYS[2], id) == 0 then return 0 end
redis.call('publish', KEYS[3], redis.call('incrby', KEYS[1], 1))
return 1
"""


def permits_key(name):
    return "{" + name + "}:timeout"


def channel(name):
    return "redisson_sc:{" + name + "}"


class JavaSemaphore:

    def __init__(self, redis, name):
        self.redis, self.name, self._client = redis, name, redis.client()

    def _eval(self, script, *args):
        return self._client.call("EVAL", script, 3, self.name, permits_key(self.name), channel(self.name), *args)

    def set_permits(self, count):
        """trySetPermits."""
        if self._client.call("SETNX", self.name, count):
            self._client.call("PUBLISH", channel(self.name), count)

    def acquire(self, lease_ms=None):
        """tryAcquire: the id of a permit, or None."""
        permit = secrets.token_hex(16)
        seconds, micros = self._client.call("TIME")
        now = int(seconds) * 1000 + int(micros) // 1000
        ends = now + lease_ms if lease_ms else 922337203685477
        return permit if self._eval(_ACQUIRE, 1, ends, now, permit) == 1 else None

    def release(self, permit):
        """tryRelease."""
        return self._eval(_RELEASE, permit) == 1

    def close(self):
        self._client.close()
