-- Takes one read-write lock, or a set of them all or nothing, in one mode. The same token that holds already is given
-- its grant again; one that writes may read too. One that reads cannot write as well: it would wait for itself.
-- KEYS  names
-- ARGV  1..10 as lock_acquire   11 "exclusive" or "shared"   12 "1": it waits when it cannot have it now
--       13 instance that asks
-- Reply as lock_acquire, and
--   "own"       as "held": the token itself reads
--   "repeated", "granted"   behind the fences: 0, and "shared" unless all are held exclusively
local holder, ttl, not_after, marker, grant_id = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local mode = ARGV[11]
local terms = {holder = holder, ttl = ttl, grant = grant_id, owner = ARGV[6], metadata = ARGV[7], fenced = ARGV[9],
    mode = mode}
if not lease_is_good(ttl) or not not_after or (mode ~= EXCLUSIVE and mode ~= SHARED) then
    return redis.error_reply('ERR lease, last moment or mode out of range')
end

local now = clock()
if now > not_after then
    return {now, 'late'}
end

-- New readers of other instances stay behind a writer that waits.
local function want(name)
    if mode == EXCLUSIVE and ARGV[10] == 'take' and ARGV[12] == '1' and redis.call('HGET', name, 'mode') == 'read' then
        redis.call('HSET', record_of(name), 'kind', RW, 'wanted', whole(now + WANTED_MS), 'wanted_by', ARGV[13])
        keep_for(record_of(name), KIND_KEPT)
    end
end

local function is_held(name)
    if look_at(name) == 'rw' and (mode == EXCLUSIVE or redis.call('HGET', name, 'mode') == 'write') then
        return true
    end
    return mode == SHARED and rw_is_wanted(name, ARGV[13], now)
end

local mine, missing, least, least_mode = {}, 0, ttl, mode
for index, name in ipairs(KEYS) do
    local kind, found = redis.call('HGET', record_of(name), 'kind'), look_at(name)
    if kind and kind ~= RW then
        return {now, 'kind', index, kind}
    end
    if found ~= 'none' and found ~= 'rw' then
        return {now, 'kind', index, found}
    end
    rw_bury_ended(name, now)
    local entry = rw_entry_of(name, holder)
    if rw_is_live(name, holder, entry, now) then
        if mode == EXCLUSIVE and entry.mode == SHARED then
            return {now, 'own', index, rw_holder_of(name, now)}
        end
        mine[index] = entry
        least = math.min(least, tonumber(entry['until']) - now)
    elseif is_held(name) then
        want(name)
        return held(now, index, holder, rw_holder_of(name, now))
    else
        missing = missing + 1
    end
end

local reply = {now, 'repeated', least}
if missing > 0 then
    local refused = refusal(now, ARGV[10], marker, names_of(holder), missing)
    if refused then
        return refused
    end
    reply[2] = 'granted'
else
    least_mode = EXCLUSIVE
end
for index, name in ipairs(KEYS) do
    local entry = mine[index]
    if not entry then
        reply[index + 3] = rw_grant(name, terms, marker, now)
    else
        if entry.grant ~= grant_id then
            entry.confirmed = 1
            rw_write_entry(name, holder, entry, 0)
        end
        least_mode = entry.mode == SHARED and SHARED or least_mode
        reply[index + 3] = entry.fence
    end
end
reply[#KEYS + 4] = 0
reply[#KEYS + 5] = least_mode
return reply
