-- Takes the locks of a train, each key by itself, in the layout of Redisson's RLock: a hash, one field = holder,
-- its value the hold count, the TTL on the hash.
-- KEYS  lock names
-- ARGV  1 field of the holder   2 lease in ms   3 last moment in Redis Unix ms (0 = none)
-- Reply {now} when the last moment is over: nothing was looked at and nothing done. Else {now, r1, r2, ...} with
--   0   ours: taken now, or held by this field already (then no second count, and the TTL never shrinks)
--   n   held by another for n ms more     -1  held by another without a TTL
--   -2  not a plain lock: another type, or a read-write lock
local LEASE_MAX = 86400000

local field, lease, not_after = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
-- A TTL that Redis refuses would leave a lock that never ends, so the lease is judged before anything is written.
if not lease or lease < 1 or lease > LEASE_MAX or not not_after then
    return redis.error_reply('ERR lease or last moment out of range')
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if not_after > 0 and now > not_after then
    return {now}
end

local function create(key)
    redis.call('HINCRBY', key, field, 1)
    if redis.pcall('PEXPIRE', key, lease) == 1 then
        return 0
    end
    redis.call('DEL', key)
    return -2
end

local function take(key)
    local kind = redis.call('TYPE', key).ok
    if kind == 'none' then
        return create(key)
    end
    if kind ~= 'hash' or redis.call('HEXISTS', key, 'mode') == 1 then
        return -2
    end
    local ttl = redis.call('PTTL', key)
    if redis.call('HEXISTS', key, field) == 1 then
        redis.call('PEXPIRE', key, math.max(ttl, lease))
        return 0
    end
    if ttl < 0 then
        return -1
    end
    return math.max(ttl, 1)
end

local reply = {now}
for index, key in ipairs(KEYS) do
    reply[index + 1] = take(key)
end
return reply
