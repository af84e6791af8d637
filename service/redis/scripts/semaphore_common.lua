-- What the scripts of semaphores share; put behind lock_common and before each of them by embed.cmake. Keys, permit ids
-- and messages of the semaphore itself are those of Redisson's RPermitExpirableSemaphore: a string with what is free, a
-- sorted set of permits by their end. Who holds which permits through us stands in a hash of our own beside it.
local SEMAPHORE = 'semaphore'
local PERMITS_MAX, LIMIT_MAX = 1000, 10000 -- of one grant, of one semaphore
local NEVER = 922337203685477 -- Redisson's score of a permit without an end

local function permits_of(name)
    return '{' .. name .. '}:timeout'
end

-- Semaphores a token has permits of, beside the index of its locks.
local function semaphores_of(holder)
    return 'lockstock:token-permits:' .. holder
end

local function holders_of(name)
    return 'lockstock:permits:' .. name
end

-- 16 raw bytes: 12 of the grant's random ones and a number.
local function permit(grant_id, number)
    local digits = string.sub(string.gsub(grant_id, '-', ''), 1, 24)
    local bytes = string.gsub(digits, '%x%x', function(pair)
        return string.char(tonumber(pair, 16))
    end)
    return bytes .. struct.pack('>I4', number)
end

local function count_is_good(count, most)
    return count and count >= 1 and count <= most and count == math.floor(count)
end

-- 'none', 'semaphore', or what else the name is used as.
local function look_at_semaphore(name)
    local kind = redis.call('HGET', record_of(name), 'kind')
    if kind and kind ~= SEMAPHORE then
        return kind
    end
    local permits = redis.call('TYPE', permits_of(name)).ok
    if permits ~= 'none' and permits ~= 'zset' then
        return permits
    end
    local found = look_at(name)
    if found == 'string' and tonumber(redis.call('GET', name)) then
        return SEMAPHORE
    end
    return found
end

-- How many there are: what is free and what is out. The name is a semaphore.
local function limit_of(name)
    return tonumber(redis.call('GET', name)) + redis.call('ZCARD', permits_of(name))
end

-- What one of our holders has, or nil when it is none. It may have ended.
local function entry_of(name, holder)
    local entry = redis.call('HGET', holders_of(name), holder)
    return entry and cjson.decode(entry)
end

local function write_entry(name, holder, entry)
    redis.call('HSET', holders_of(name), holder, cjson.encode(entry))
end

local function is_live(name, entry)
    return entry and redis.call('ZSCORE', permits_of(name), permit(entry.grant, 1))
end

-- Java waiters wake one thread for each permit they are told of; a message below 1 is an error to them.
local function tell_free(name, free)
    if free >= 1 then
        return redis.call('PUBLISH', 'redisson_sc:{' .. name .. '}', whole(free))
    end
    return 0
end

-- No permit is out any more: the name leaves the index of what is held.
local function leave_index(name)
    if redis.call('ZCARD', permits_of(name)) == 0 then
        redis.call('ZREM', NAMES, name)
    end
end

-- Holders whose lease ended are told so when they come back.
local function bury_ended(name, now)
    local entries = redis.call('HGETALL', holders_of(name))
    for index = 1, #entries, 2 do
        if tonumber(cjson.decode(entries[index + 1])['until']) <= now then
            redis.call('SET', tombstone_of(name, entries[index]), 'expired:', 'PX', LOST_KEPT)
            redis.call('HDEL', holders_of(name), entries[index])
        end
    end
end

-- Permits whose lease is over go back. Whose they were does not matter.
local function take_back(name, now)
    local back = redis.call('ZREMRANGEBYSCORE', permits_of(name), '-inf', whole(now))
    if back == 0 then
        return
    end
    if redis.call('EXISTS', name) == 1 then
        tell_free(name, redis.call('INCRBY', name, back))
    end
    leave_index(name)
    bury_ended(name, now)
end

-- A semaphore of our own making ends a day after its last lease; one a Java service made stays as it made it.
local function keep_semaphore(name, ttl)
    local left = redis.call('PTTL', name)
    keep_for(record_of(name), ttl + KIND_KEPT)
    keep_for(holders_of(name), ttl + LOST_KEPT)
    if left >= 0 and redis.call('HGET', record_of(name), 'made') then
        keep_for(name, ttl + KIND_KEPT)
        keep_for(permits_of(name), ttl + KIND_KEPT)
    elseif left >= 0 then
        redis.call('PEXPIRE', permits_of(name), left)
    end
end

-- Why `holder` has no permits any more.
local function permits_lost(name, holder, now)
    local entry = entry_of(name, holder)
    if entry then
        return now >= tonumber(entry['until']) and 'expired' or 'vanished', ''
    end
    local stone = redis.call('GET', tombstone_of(name, holder))
    return stone and string.match(stone, '^%a+') or 'unknown', ''
end

-- The permits `holder` has now, or nil.
local function mine_of(name, holder, now)
    if look_at_semaphore(name) ~= SEMAPHORE then
        return nil
    end
    take_back(name, now)
    local mine = entry_of(name, holder)
    return is_live(name, mine) and mine or nil
end

local function permits_out(name, now)
    return redis.call('ZCOUNT', permits_of(name), '(' .. whole(now), '+inf')
end

-- What stands at the name: {first, kind or "", "none" | "semaphore" | what else is there, last fence or "", limit, free,
-- permits of others, h1, h2, ...}, each holder of ours {ms left, owner, ms held, fence, metadata, permits}, first come
-- first, `most` of them. Writes nothing.
local function semaphore_status(name, first, most, now)
    local record = redis.call('HMGET', record_of(name), 'kind', 'fence')
    local found = look_at_semaphore(name)
    if found ~= SEMAPHORE then
        return {first, record[1] or '', found, record[2] or ''}
    end
    local holders, ours = {}, 0
    for _, text in ipairs(redis.call('HVALS', holders_of(name))) do
        local entry = cjson.decode(text)
        if tonumber(entry['until']) > now and is_live(name, entry) then
            ours = ours + entry.permits
            holders[#holders + 1] = entry
        end
    end
    table.sort(holders, function(a, b)
        return tonumber(a.fence) < tonumber(b.fence)
    end)
    local limit, out = limit_of(name), permits_out(name, now)
    local told = {first, SEMAPHORE, SEMAPHORE, record[2] or '', limit, limit - out, out - ours}
    for index = 1, math.min(#holders, most) do
        local entry = holders[index]
        told[#told + 1] = {tonumber(entry['until']) - now, entry.owner, whole(now - tonumber(entry.at)), entry.fence,
            entry.metadata, entry.permits}
    end
    return told
end
