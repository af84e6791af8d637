-- The queue of a fair lock, shared with Redisson's RFairLock: a list of owners, and their deadlines in a sorted set. What
-- we know of our own waiters stands beside it in "lockstock:waiting:<name>": holder -> "keeper until number". The keeper
-- is the place that waits (the last that asked, when a token asks at two instances), until is the moment at which it
-- counts as dead (its instance says every few seconds that it lives), number tells who of ours came first.
--
-- Redisson takes 300000 off all deadlines at each of its grants, and removes a head whose deadline is over. Ours
-- therefore stand as far in the future as that can happen before they are the head, and a waiter of ours that was
-- removed although it lives is put back where it stood.
local FAIR_LIFE = 6000
local FAIR_FOREIGN_WAIT = 300000 -- fairLockWaitTimeout of Redisson
local FAIR_KEPT = 60000
local FAIR_NUMBER = '#' -- no holder: those are hex

local function queue_of(name)
    return 'redisson_lock_queue:{' .. name .. '}'
end

local function deadlines_of(name)
    return 'redisson_lock_timeout:{' .. name .. '}'
end

local function waiting_of(name)
    return 'lockstock:waiting:' .. name
end

-- nil, or the type of what is in the way of a queue.
local function queue_fault(name)
    local queue = redis.call('TYPE', queue_of(name)).ok
    local deadlines = redis.call('TYPE', deadlines_of(name)).ok
    if queue ~= 'none' and queue ~= 'list' then
        return queue
    end
    return deadlines ~= 'none' and deadlines ~= 'zset' and deadlines or nil
end

local function is_fair(name)
    return redis.call('HGET', record_of(name), 'kind') == 'fair'
end

local function head_of(name)
    return redis.call('LINDEX', queue_of(name), 0)
end

local function deadline_of(name, owner)
    return tonumber(redis.call('ZSCORE', deadlines_of(name), owner))
end

-- Keeper, until and number of a waiter of ours; nothing when it is none.
local function waiter_of(name, holder)
    local text = redis.call('HGET', waiting_of(name), holder)
    if not text then
        return
    end
    local keeper, till, number = string.match(text, '^(%S+) (%d+) (%d+)$')
    return keeper, tonumber(till), tonumber(number)
end

local function note_waiter(name, holder, keeper, till, number)
    redis.call('HSET', waiting_of(name), holder, keeper .. ' ' .. whole(till) .. ' ' .. whole(number))
    keep_for(waiting_of(name), FAIR_LIFE + FAIR_KEPT)
end

-- Heads that are over leave: dead ones of ours, foreign ones past their deadline or without any. Returns how many.
local function purge(name, now)
    local gone = 0
    while true do
        local head = head_of(name)
        if not head then
            return gone
        end
        local _, till = waiter_of(name, head)
        local deadline = deadline_of(name, head)
        if (till or deadline or 0) > now then
            if (deadline or 0) <= now then
                redis.call('ZADD', deadlines_of(name), whole(now + FAIR_LIFE), head)
            end
            return gone
        end
        redis.call('LPOP', queue_of(name))
        redis.call('ZREM', deadlines_of(name), head)
        redis.call('HDEL', waiting_of(name), head)
        gone = gone + 1
    end
end

-- Tells the head that the lock is free, on its own channel.
local function wake_head(name)
    local head = head_of(name)
    if head then
        redis.call('PUBLISH', channel_of(name) .. ':' .. head, UNLOCKED)
    end
end

-- The lock has just come free.
local function wake_next(name, now)
    if queue_fault(name) then
        return
    end
    purge(name, now)
    wake_head(name)
end

-- The head has got the lock.
local function pop_head(name, holder)
    redis.call('LPOP', queue_of(name))
    redis.call('ZREM', deadlines_of(name), holder)
    redis.call('HDEL', waiting_of(name), holder)
    for _, owner in ipairs(redis.call('ZRANGE', deadlines_of(name), 0, -1)) do
        redis.call('ZINCRBY', deadlines_of(name), -FAIR_LIFE, owner)
    end
end

local function give_up(name, holder)
    local behind = false
    for _, owner in ipairs(redis.call('LRANGE', queue_of(name), 0, -1)) do
        if behind then
            redis.call('ZINCRBY', deadlines_of(name), -FAIR_LIFE, owner)
        end
        behind = behind or owner == holder
    end
    redis.call('ZREM', deadlines_of(name), holder)
    redis.call('LREM', queue_of(name), 0, holder)
    redis.call('HDEL', waiting_of(name), holder)
end

-- A waiter that lives and was removed from the front: behind those of ours that came before it, before all others.
local function put_back(name, holder, number, now)
    local queue = queue_of(name)
    redis.call('ZADD', deadlines_of(name), whole(now + FAIR_LIFE), holder)
    for _, owner in ipairs(redis.call('LRANGE', queue, 0, -1)) do
        local _, _, other = waiter_of(name, owner)
        if not other or other > number then
            redis.call('LINSERT', queue, 'BEFORE', owner, holder)
            return
        end
    end
    redis.call('RPUSH', queue, holder)
end

-- As Redisson: so long after the last in the queue, or after the lease.
local function line_up(name, holder, now)
    local last = redis.call('LINDEX', queue_of(name), -1)
    local deadline = last and deadline_of(name, last)
    local base = deadline and deadline - now or redis.call('PTTL', name)
    redis.call('ZADD', deadlines_of(name), whole(math.max(base, 0) + FAIR_LIFE + now), holder)
    redis.call('RPUSH', queue_of(name), holder)
end

local function rank_of(name, holder)
    local index = redis.call('LPOS', queue_of(name), holder)
    return index and index + 1 or 0
end

-- Who stands there already keeps its place. Returns the rank, from 1.
local function enter(name, holder, keeper, now)
    local _, till, number = waiter_of(name, holder)
    local stands = rank_of(name, holder) > 0
    if not stands and till and till > now then
        put_back(name, holder, number, now)
    elseif not stands then
        number = nil
        line_up(name, holder, now)
    end
    number = number or redis.call('HINCRBY', waiting_of(name), FAIR_NUMBER, 1)
    note_waiter(name, holder, keeper, now + FAIR_LIFE, number)
    return rank_of(name, holder)
end
