"""The queue of a fair lock in Redis, and a Java neighbour that stands in it as Redisson's RFairLock does."""

import time
import uuid

from .resp import Subscriber, lock_channel

JAVA_WAIT_MS = 300000  # fairLockWaitTimeout


def queue_key(name):
    return "redisson_lock_queue:{" + name + "}"


def deadlines_key(name):
    return "redisson_lock_timeout:{" + name + "}"


# KEYS lock, queue, deadlines   ARGV lease, owner, wait, now. Nil: it has the lock.
_PURGE = """
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  local score = head and redis.call('zscore', KEYS[3], head)
  if not score or tonumber(score) > tonumber(ARGV[4]) then break end
  redis.call('zrem', KEYS[3], head)
  redis.call('lpop', KEYS[2])
end
"""
_ACQUIRE = _PURGE + """
if redis.call('exists', KEYS[1]) == 0 and
   (redis.call('exists', KEYS[2]) == 0 or redis.call('lindex', KEYS[2], 0) == ARGV[2]) then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], ARGV[2])
  for _, other in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
    redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), other)
  end
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return false
end
if redis.call('zscore', KEYS[3], ARGV[2]) then return math.max(0, redis.call('pttl', KEYS[1])) end
local last = redis.call('lindex', KEYS[2], -1)
local score = last and redis.call('zscore', KEYS[3], last)
local base = score and score - ARGV[4] or redis.call('pttl', KEYS[1])
redis.call('zadd', KEYS[3], base + ARGV[3] + ARGV[4], ARGV[2])
redis.call('rpush', KEYS[2], ARGV[2])
return base
"""
_RELEASE = _PURGE + """
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return -1 end
redis.call('del', KEYS[1])
local head = redis.call('lindex', KEYS[2], 0)
return head and redis.call('publish', ARGV[5] .. ':' .. head, '0') or 0
"""


class JavaFair:
    """One thread of a Java service. It stands in the queue from its first try that fails."""

    def __init__(self, redis, name, lease_ms=30000):
        self.redis, self.name, self.lease_ms = redis, name, lease_ms
        self.owner = f"{uuid.uuid4()}:1"
        self._client = redis.client()
        self._heard = Subscriber(redis, f"{lock_channel(name)}:{self.owner}")

    def _eval(self, script):
        return self._client.call("EVAL", script, 3, self.name, queue_key(self.name), deadlines_key(self.name),
                                 self.lease_ms, self.owner, JAVA_WAIT_MS, int(time.time() * 1000),
                                 lock_channel(self.name))

    def try_once(self):
        """True: it has the lock; else it is in the queue."""
        return self._eval(_ACQUIRE) is None

    def woken(self):
        return bool(self._heard.messages())

    def release(self):
        return self._eval(_RELEASE)

    def close(self):
        self._client.close()
        self._heard.close()
