-- Looks after names with readers of ours that are due, so that each is seen every few seconds by one instance: a watchdog
-- of Redisson's sets the time to live of the lock to its own timeout, and before 4.4 that of every read hold. Both are
-- put back; readers whose lease is over leave.
-- ARGV  1 how many names at most
-- Reply {now, names looked at}
local now = clock()

-- How long the longest reader of ours has yet; 0 = there is none.
local function rearm_holds(name)
    local entries, longest = redis.call('HGETALL', rw_holders_of(name)), 0
    for index = 1, #entries, 2 do
        local holder, entry = entries[index], cjson.decode(entries[index + 1])
        if entry.mode == SHARED and rw_is_live(name, holder, entry, now) then
            local left = tonumber(entry['until']) - now
            local key = rw_timeout_of(name, holder, 1)
            if redis.call('PTTL', key) < left then
                redis.call('SET', key, 1, 'PX', left)
            end
            longest = math.max(longest, left)
        end
    end
    return longest
end

local function rearm(name)
    rw_bury_ended(name, now)
    local longest = rearm_holds(name)
    if longest == 0 then
        redis.call('ZREM', REARM, name)
        return
    end
    keep_for(name, longest)
    redis.call('ZADD', REARM, whole(now + REARM_MS), name)
end

local names = redis.call('ZRANGEBYSCORE', REARM, '-inf', whole(now), 'LIMIT', 0, ARGV[1])
for _, name in ipairs(names) do
    rearm(name)
end
local reply = {now, #names}
return reply
