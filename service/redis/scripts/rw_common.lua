-- What the scripts share that may meet a read-write lock; put behind lock_common by embed.cmake. Keys, fields and
-- messages of the lock itself are those of Redisson's RReadWriteLock: a hash with the field "mode", a field for each
-- holder, and for each read hold a key with its own time to live. Who holds through us stands beside it: a hash
-- holder -> entry, and a sorted set of the holders by the end of their lease, which is what decides; the time to live of
-- the hash is only the longest of all.
local RW, EXCLUSIVE, SHARED = 'rw', 'exclusive', 'shared'
local REARM = 'lockstock:rw-rearm' -- names with readers of ours, by the moment they are looked after next
local REARM_MS = 4000 -- with a timer of the same length: never more than 10 s apart
local WANTED_MS = 2000 -- a writer that waits says so once a second; until this is over no new reader comes in
local ENDED_MAX = 100 -- holders buried by one look
local SHOWN_MAX = 500 -- holders told of
local HOLDS_MAX = 1000 -- of one Java thread, looked at

local function is_rw(name)
    return redis.call('HGET', record_of(name), 'kind') == RW
end

local function rw_channel_of(name)
    return 'redisson_rwlock:{' .. name .. '}'
end

local function rw_holders_of(name)
    return 'lockstock:rw-holders:' .. name
end

local function rw_ends_of(name)
    return 'lockstock:rw-ends:' .. name
end

local function rw_timeout_of(name, field, number)
    return '{' .. name .. '}:' .. field .. ':rwlock_timeout:' .. number
end

local function rw_field_of(holder, mode)
    return mode == EXCLUSIVE and holder .. ':write' or holder
end

-- Tells waiters that one of this mode went. At a 1 Redisson wakes all its threads that sleep: all may read now. One that
-- was just about to lie down misses it and would sleep for the lease that was; a 0 is kept for it.
local function rw_publish(name, mode)
    if mode == EXCLUSIVE then
        redis.call('PUBLISH', rw_channel_of(name), '1')
    end
    return redis.call('PUBLISH', rw_channel_of(name), '0')
end

local function rw_entry_of(name, holder)
    local entry = redis.call('HGET', rw_holders_of(name), holder)
    return entry and cjson.decode(entry)
end

local function rw_write_entry(name, holder, entry, ttl)
    redis.call('HSET', rw_holders_of(name), holder, cjson.encode(entry))
    redis.call('ZADD', rw_ends_of(name), entry['until'], holder)
    keep_for(rw_holders_of(name), ttl + LOST_KEPT)
    keep_for(rw_ends_of(name), ttl + LOST_KEPT)
    keep_for(record_of(name), ttl + KIND_KEPT)
    keep_for(names_of(holder), ttl + LOST_KEPT)
end

local function rw_drop_entry(name, holder)
    redis.call('HDEL', rw_holders_of(name), holder)
    redis.call('ZREM', rw_ends_of(name), holder)
end

local function rw_is_live(name, holder, entry, now)
    return entry and tonumber(entry['until']) > now and look_at(name) == 'rw'
        and redis.call('HEXISTS', name, rw_field_of(holder, entry.mode)) == 1
end

-- Our writer's entry, or nil when none of ours writes.
local function rw_writer_of(name, now)
    local writer = redis.call('HGET', record_of(name), 'writer')
    local entry = writer and rw_entry_of(name, writer)
    return entry and entry.mode == EXCLUSIVE and rw_is_live(name, writer, entry, now) and entry or nil
end

local function rw_bury(name, holder, reason)
    redis.call('SET', tombstone_of(name, holder), reason .. ':', 'PX', LOST_KEPT)
    rw_drop_entry(name, holder)
end

-- Why `holder` does not hold the name any more, and since when one of our writers has been there.
local function rw_loss_of(name, holder, now)
    local entry = rw_entry_of(name, holder)
    local reason
    if entry then
        reason = now >= tonumber(entry['until']) and 'expired' or 'vanished'
    else
        reason = string.match(redis.call('GET', tombstone_of(name, holder)) or 'unknown', '^%a+')
    end
    local writer = rw_writer_of(name, now)
    return reason, reason ~= 'unknown' and writer and writer.at or ''
end

-- The longest read hold of a field, in ms; below 1: it has none that lives.
local function rw_hold_of(name, field, holds)
    local longest = 0
    for number = 1, math.min(holds, HOLDS_MAX) do
        longest = math.max(longest, redis.call('PTTL', rw_timeout_of(name, field, number)))
    end
    return longest
end

-- A field went from a lock that is read: it lasts as long as the longest hold that is left, as after Redisson's unlock.
-- True: none is left, and the lock is gone.
local function rw_shrink(name)
    local fields, longest = redis.call('HGETALL', name), 0
    for index = 1, #fields, 2 do
        local holds = tonumber(fields[index + 1])
        if holds then
            longest = math.max(longest, rw_hold_of(name, fields[index], holds))
        end
    end
    if longest > 0 then
        redis.call('PEXPIRE', name, longest)
        return false
    end
    redis.call('DEL', name)
    redis.call('ZREM', NAMES, name)
    return true
end

-- Takes a live holder's part away. True: the lock is gone.
local function rw_let_go(name, holder, mode)
    redis.call('HDEL', name, rw_field_of(holder, mode))
    redis.call('DEL', rw_timeout_of(name, holder, 1))
    rw_drop_entry(name, holder)
    if mode == EXCLUSIVE then
        redis.call('HDEL', record_of(name), 'writer')
        redis.call('HSET', name, 'mode', 'read')
    end
    return rw_shrink(name)
end

-- Holders of ours whose lease is over leave, so that no Redisson keeps them alive; nobody else ends with them.
local function rw_bury_ended(name, now)
    local ended = redis.call('ZRANGEBYSCORE', rw_ends_of(name), '-inf', whole(now), 'LIMIT', 0, ENDED_MAX)
    local stands, left = look_at(name) == 'rw', 0
    for _, holder in ipairs(ended) do
        local entry = rw_entry_of(name, holder)
        if stands and entry then
            left = left + redis.call('HDEL', name, rw_field_of(holder, entry.mode))
            redis.call('DEL', rw_timeout_of(name, holder, 1))
        end
        rw_bury(name, holder, 'expired')
    end
    if left > 0 and redis.call('HGET', name, 'mode') == 'read' and rw_shrink(name) then
        rw_publish(name, SHARED)
    end
end

-- Nobody holds the name any more: those who thought so are told when they come back.
local function rw_bury_all(name, reason)
    for _, holder in ipairs(redis.call('HKEYS', rw_holders_of(name))) do
        redis.call('DEL', rw_timeout_of(name, holder, 1))
        rw_bury(name, holder, reason)
    end
    redis.call('HDEL', record_of(name), 'writer')
end

-- A writer that waits at another instance goes before new readers; at the same one the queue there decides.
local function rw_is_wanted(name, instance, now)
    local wanted = redis.call('HMGET', record_of(name), 'wanted', 'wanted_by')
    return wanted[1] and tonumber(wanted[1]) > now and wanted[2] ~= instance
end

-- Writes a grant; it may be given, and the terms have been judged. terms: holder, ttl, grant, owner, metadata, fenced,
-- mode.
local function rw_grant(name, terms, marker, now)
    local fence = next_fence(name, marker, terms.fenced)
    local record, ttl = record_of(name), terms.ttl
    if redis.call('EXISTS', name) == 0 then
        rw_bury_all(name, 'vanished')
    end
    redis.call('HSET', name, 'mode', terms.mode == SHARED and 'read' or 'write', rw_field_of(terms.holder, terms.mode), 1)
    redis.call('HSET', record, 'kind', RW, 'fence', fence)
    if terms.mode == SHARED then
        redis.call('SET', rw_timeout_of(name, terms.holder, 1), 1, 'PX', ttl)
        keep_for(name, ttl)
        redis.call('ZADD', REARM, 'NX', whole(now + REARM_MS), name)
    else
        redis.call('PEXPIRE', name, ttl)
        redis.call('HDEL', record, 'wanted', 'wanted_by')
        redis.call('HSET', record, 'writer', terms.holder)
    end
    redis.call('ZADD', names_of(terms.holder), 0, name)
    redis.call('ZADD', NAMES, 0, name)
    rw_write_entry(name, terms.holder, {grant = terms.grant, fence = fence, mode = terms.mode, at = whole(now),
        ['until'] = whole(now + ttl), owner = terms.owner, metadata = terms.metadata}, ttl)
    return fence
end

local function rw_renew(name, holder, ttl, fence, now)
    rw_bury_ended(name, now)
    local entry = rw_entry_of(name, holder)
    if not rw_is_live(name, holder, entry, now) then
        redis.call('ZREM', names_of(holder), name)
        return {'lost', rw_loss_of(name, holder, now)}
    end
    if fence ~= '' and fence ~= entry.fence then
        return {'lost', 'superseded', ''}
    end
    local shortens = now + ttl < tonumber(entry['until'])
    entry['until'] = whole(now + ttl)
    entry.confirmed = 1
    rw_write_entry(name, holder, entry, ttl)
    if entry.mode == EXCLUSIVE then
        redis.call('PEXPIRE', name, ttl)
    else
        redis.call('SET', rw_timeout_of(name, holder, 1), 1, 'PX', ttl)
        keep_for(name, ttl)
        if shortens then
            rw_shrink(name)
        end
    end
    return {'held', entry.fence, entry.owner, RW, '', entry.mode}
end

local function rw_gone(name, holder, fence, now)
    local reason, since = rw_loss_of(name, holder, now)
    local of = string.match(redis.call('GET', tombstone_of(name, holder)) or '', '^released:%d*:(%d*)')
    redis.call('ZREM', names_of(holder), name)
    if reason == 'released' and (fence == '' or fence == of) then
        return {'already'}
    end
    return {'lost', reason, since}
end

-- hand_on(name): grants to the next and returns fence, lease and mode, or returns nil when nothing is handed on. Readers
-- of all sides are told even then: they may come in beside the next one that reads.
local function rw_release(name, holder, fence, grant_id, now, hand_on)
    rw_bury_ended(name, now)
    local entry = rw_entry_of(name, holder)
    if not rw_is_live(name, holder, entry, now) then
        return rw_gone(name, holder, fence, now)
    end
    if (fence ~= '' and fence ~= entry.fence) or (grant_id ~= '' and (grant_id ~= entry.grant or entry.confirmed)) then
        return {'lost', 'superseded', ''}
    end
    local held, heard = now - tonumber(entry.at), 0
    local is_free = rw_let_go(name, holder, entry.mode)
    redis.call('SET', tombstone_of(name, holder), 'released:' .. whole(now) .. ':' .. entry.fence, 'PX', RELEASED_KEPT)
    redis.call('ZREM', names_of(holder), name)
    local next_fence_text, ttl, mode
    if is_free then
        next_fence_text, ttl, mode = hand_on(name)
    end
    if (is_free or entry.mode == EXCLUSIVE) and mode ~= EXCLUSIVE then
        heard = rw_publish(name, entry.mode)
    end
    if next_fence_text then
        return {'handed', 0, held, next_fence_text, ttl, mode}
    end
    return {'released', heard, held}
end

-- As holder_of, from an entry.
local function rw_told(entry, ttl, now)
    return ttl, entry.owner, whole(now - tonumber(entry.at)), entry.fence, entry.metadata
end

-- As holder_of: our writer, else our reader that stays longest, else a stranger. -2: nobody.
local function rw_holder_of(name, now)
    local ttl = redis.call('PTTL', name)
    local writer = rw_writer_of(name, now)
    if writer then
        return rw_told(writer, ttl, now)
    end
    local last = redis.call('ZREVRANGE', rw_ends_of(name), 0, 0)[1]
    local entry = last and rw_entry_of(name, last)
    if rw_is_live(name, last, entry, now) then
        return rw_told(entry, ttl, now)
    end
    return ttl, '', '', '', ''
end

-- Readers of ours in the order they came, then those of others; each as holder_of. Writes nothing.
local function rw_readers_of(name, now)
    local ours, others = {}, {}
    local fields = redis.call('HGETALL', name)
    for index = 1, #fields, 2 do
        local field, holds = fields[index], tonumber(fields[index + 1])
        local entry = holds and rw_entry_of(name, field)
        if entry and tonumber(entry['until']) > now then
            ours[#ours + 1] = entry
        elseif holds and not entry then
            local longest = rw_hold_of(name, field, holds)
            others[#others + 1] = {longest > 0 and longest or redis.call('PTTL', name), '', '', '', ''}
        end
    end
    table.sort(ours, function(a, b)
        return tonumber(a.fence) < tonumber(b.fence)
    end)
    local readers = {}
    for _, entry in ipairs(ours) do
        readers[#readers + 1] = {rw_told(entry, tonumber(entry['until']) - now, now)}
    end
    for _, other in ipairs(others) do
        readers[#readers + 1] = other
    end
    return readers
end

-- {"rw", "held", fence, then as holder_of} when one writes, {"rw", "shared", fence, reader, ...}, {"rw", "free", fence}
local function rw_status(name, now)
    local fence = redis.call('HGET', record_of(name), 'fence') or ''
    if look_at(name) ~= 'rw' then
        return {RW, 'free', fence}
    end
    if redis.call('HGET', name, 'mode') == 'write' then
        return {RW, 'held', fence, rw_holder_of(name, now)}
    end
    local readers = rw_readers_of(name, now)
    local reply = {RW, #readers > 0 and 'shared' or 'free', fence}
    for index = 1, math.min(#readers, SHOWN_MAX) do
        reply[#reply + 1] = readers[index]
    end
    return reply
end

-- Takes the lock from all who hold it. Returns as holder_of whom it was taken from.
local function rw_force(name, now)
    local holder = {rw_holder_of(name, now)}
    local mode = redis.call('HGET', name, 'mode') == 'write' and EXCLUSIVE or SHARED
    rw_bury_ended(name, now)
    rw_bury_all(name, 'forced')
    redis.call('DEL', name)
    redis.call('ZREM', NAMES, name)
    rw_publish(name, mode)
    return unpack(holder)
end
