-- Gives the locks of a train back and tells who waits for them, as Redisson's unlock does.
-- KEYS  lock names
-- ARGV  1 field of the holder
-- Reply {r1, r2, ...}: -1 not ours, nothing done; else released, and the number of subscribers that heard it.
local CHANNEL = 'redisson_lock__channel:'
local UNLOCKED = '0'

local field = ARGV[1]

local function is_ours(key)
    return redis.call('TYPE', key).ok == 'hash'
        and redis.call('HEXISTS', key, 'mode') == 0
        and redis.call('HEXISTS', key, field) == 1
end

-- Redisson puts the name in braces unless it has one of its own.
local function channel_of(key)
    if string.find(key, '{', 1, true) then
        return CHANNEL .. key
    end
    return CHANNEL .. '{' .. key .. '}'
end

local function release(key)
    if not is_ours(key) then
        return -1
    end
    redis.call('DEL', key)
    return redis.call('PUBLISH', channel_of(key), UNLOCKED)
end

local reply = {}
for index, key in ipairs(KEYS) do
    reply[index] = release(key)
end
return reply
