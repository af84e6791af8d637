-- What the scripts of locks as a service share; put before each of them by embed.cmake. Numbers that Redis is given are
-- texts where they can be: it would print each of them anew, and at length. Keys, fields and messages of the
-- lock itself are those of Redisson's RLock; the rest is ours and begins with "lockstock:" (ARCHITECTURE.md, Redis).
local LEASE_MAX = 86400000
local KIND_KEPT = 86400000 -- a name's kind is remembered this long after its lease
local RELEASED_KEPT = '60000' -- a repeated release is answered like the first
local LOST_KEPT = 3600000 -- why a lease ended without a release
local FENCE_SPAN = 4294967296
local FENCE_SPARE = 64 -- an epoch ends this much early, so that one call's fences always fit
local FENCE = 'lockstock:fence'
local NAMES = 'lockstock:names'
local UNLOCKED = '0'
local TOKEN_NAMES_MAX = 10000 -- held by one token

local function record_of(name)
    return 'lockstock:lock:' .. name
end

local function tombstone_of(name, holder)
    return 'lockstock:gone:' .. holder .. ':' .. name
end

local function names_of(holder)
    return 'lockstock:token:' .. holder
end

local function channel_of(name)
    return 'redisson_lock__channel:{' .. name .. '}'
end

-- A fence has up to 53 bits: tostring would round it.
local function whole(number)
    return string.format('%.0f', number)
end

local function clock()
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- What stands at the name: 'none', 'lock', 'rw' (a read-write lock), or another type of Redis.
local function look_at(name)
    local kind = redis.call('TYPE', name).ok
    if kind ~= 'hash' then
        return kind
    end
    if redis.call('HEXISTS', name, 'mode') == 1 then
        return 'rw'
    end
    return 'lock'
end

local function is_held_by(name, holder)
    if redis.call('TYPE', name).ok ~= 'hash' then
        return false
    end
    local fields = redis.call('HMGET', name, 'mode', holder)
    return not fields[1] and fields[2] and true or false
end

-- Why `holder` does not hold the name any more, and since when another has been there (Redis ms, '' = not known).
local function loss_of(name, holder, now)
    local record = redis.call('HMGET', record_of(name), 'holder', 'forced', 'until')
    if record[1] == holder then
        if record[2] then
            return 'forced', ''
        end
        if now >= tonumber(record[3]) then
            return 'expired', ''
        end
        return 'vanished', ''
    end
    local stone = redis.call('GET', tombstone_of(name, holder))
    if not stone then
        return 'unknown', ''
    end
    return string.match(stone, '^(%a+):(%d*)')
end

-- The holder before has not released: what became of it is written down when the next one comes.
local function bury(name, before, now)
    local reason = loss_of(name, before, now)
    redis.call('SET', tombstone_of(name, before), reason .. ':' .. whole(now), 'PX', LOST_KEPT)
end

-- The marker is the one believed in, and its epoch has numbers left.
local function marker_stands(marker)
    local fence = redis.call('HMGET', FENCE, 'marker', 'n')
    local n = tonumber(fence[2])
    return fence[1] == marker and n and n + FENCE_SPARE < FENCE_SPAN, fence[1] or ''
end

-- prefixes: of names whose fences go together with those of Redisson's RFencedLock, comma-separated.
local function is_fenced(name, prefixes)
    for prefix in string.gmatch(prefixes, '[^,]+') do
        if string.sub(name, 1, #prefix) == prefix then
            return true
        end
    end
    return false
end

-- The next fence of the name: above all of ours, and above those Redisson's counter has reached, which follows.
local function next_fence(name, marker, prefixes)
    local epoch = tonumber(string.match(marker, '^%d+'))
    local fence = epoch * FENCE_SPAN + redis.call('HINCRBY', FENCE, 'n', '1')
    if is_fenced(name, prefixes) then
        local key = 'redisson_lock_token:{' .. name .. '}'
        fence = math.max(fence, (tonumber(redis.call('GET', key)) or 0) + 1)
        redis.call('SET', key, whole(fence))
    end
    return whole(fence)
end

local function keep_for(key, ms)
    if redis.call('PTTL', key) < ms then
        redis.call('PEXPIRE', key, whole(ms))
    end
end

-- What a grant has to know of the one before it: holder, forced, confirmed.
local function left_of(name)
    return redis.call('HMGET', record_of(name), 'holder', 'forced', 'confirmed')
end

-- Writes a grant; the name is free and the terms have been judged. terms: holder, ttl, grant, owner, metadata, kind,
-- fenced. left: as left_of.
local function grant(name, terms, marker, now, left)
    local fence, ttl = next_fence(name, marker, terms.fenced), whole(terms.ttl)
    local record, names = record_of(name), names_of(terms.holder)
    if left[1] then
        bury(name, left[1], now)
    end
    if left[2] or left[3] then
        redis.call('HDEL', record, 'forced', 'confirmed')
    end
    redis.call('HSET', name, terms.holder, '1')
    redis.call('PEXPIRE', name, ttl)
    redis.call('HSET', record, 'kind', terms.kind, 'holder', terms.holder, 'grant', terms.grant, 'fence', fence,
        'at', whole(now), 'until', whole(now + terms.ttl), 'owner', terms.owner, 'metadata', terms.metadata)
    redis.call('PEXPIRE', record, whole(terms.ttl + KIND_KEPT))
    redis.call('ZADD', names, '0', name)
    keep_for(names, terms.ttl + LOST_KEPT)
    redis.call('ZADD', NAMES, '0', name)
    return fence
end

-- The holder asked again for what it has: another grant id confirms the grant. Its fence.
local function confirm(name, grant_id)
    local fields = redis.call('HMGET', record_of(name), 'grant', 'fence')
    if fields[1] ~= grant_id then
        redis.call('HSET', record_of(name), 'confirmed', 1)
    end
    return fields[2] or '0'
end

-- A refused token is told where, then as holder_of, and at last whether it holds anything (1 or 0): only then can its
-- wait close a cycle (lock_wait.lua).
local function held(now, where, holder, ...)
    local reply = {now, 'held', where, ...}
    reply[#reply + 1] = redis.call('EXISTS', names_of(holder))
    return reply
end

-- Nothing stands in the way of `more` new names in the token's index: the reply that refuses them all the same, or nil.
local function refusal(now, way, marker, index, more)
    if way == 'look' then
        return {now, 'free', redis.call('EXISTS', index)}
    end
    local stands, standing = marker_stands(marker)
    if not stands then
        return {now, 'epoch', standing}
    end
    if redis.call('ZCARD', index) + more > TOKEN_NAMES_MAX then
        return {now, 'many'}
    end
end

-- Takes a held lock away from its holder.
local function let_go(name, holder, fence, now)
    local record = record_of(name)
    redis.call('DEL', name)
    redis.call('HDEL', record, 'holder', 'grant', 'at', 'until', 'owner', 'metadata', 'forced', 'confirmed')
    redis.call('PEXPIRE', record, KIND_KEPT)
    redis.call('SET', tombstone_of(name, holder), 'released:' .. whole(now) .. ':' .. fence, 'PX', RELEASED_KEPT)
    redis.call('ZREM', names_of(holder), name)
    redis.call('ZREM', NAMES, name)
end

-- {ttl or -1, owner, held for ms, fence, metadata}: owner and what follows are '' when the holder is not one of ours.
local function holder_of(name, now)
    local ttl = redis.call('PTTL', name)
    local record = redis.call('HMGET', record_of(name), 'holder', 'owner', 'at', 'fence', 'metadata')
    if not record[1] or redis.call('HEXISTS', name, record[1]) == 0 then
        return ttl, '', '', '', ''
    end
    return ttl, record[2], whole(now - tonumber(record[3])), record[4], record[5]
end

local function lease_is_good(ttl)
    return ttl and ttl >= 1 and ttl <= LEASE_MAX
end
