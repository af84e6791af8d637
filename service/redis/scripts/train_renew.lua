-- Prolongs the locks of a train. Never creates a key and never shortens a TTL.
-- KEYS  lock names
-- ARGV  1 field of the holder   2 lease in ms
-- Reply {r1, r2, ...}: 1 renewed, 0 lost.
local LEASE_MAX = 86400000

local field, lease = ARGV[1], tonumber(ARGV[2])
if not lease or lease < 1 or lease > LEASE_MAX then
    return redis.error_reply('ERR lease out of range')
end

local function is_ours(key)
    return redis.call('TYPE', key).ok == 'hash'
        and redis.call('HEXISTS', key, 'mode') == 0
        and redis.call('HEXISTS', key, field) == 1
end

local function renew(key)
    if not is_ours(key) then
        return 0
    end
    return redis.call('PEXPIRE', key, math.max(redis.call('PTTL', key), lease))
end

local reply = {}
for index, key in ipairs(KEYS) do
    reply[index] = renew(key)
end
return reply
