-- Takes one lock, or a set of locks all or nothing. The same token that holds already is given its grant again.
-- KEYS  names
-- ARGV  1 holder   2 lease in ms   3 last moment in Redis Unix ms   4 fence marker believed in   5 grant id   6 owner
--       7 metadata (JSON)   8 kind   9 prefixes of names with Redisson's fences   10 "take", or "look": grant nothing new
-- Reply {now, what, ...} with what
--   "late"      the last moment is over: nothing was looked at
--   "kind"      index of the name, what it is used as
--   "held"      index of the name, then as holder_of; 1: the token holds something
--   "repeated"  least ms left, fences: all held by this token already. Another grant id confirms the grant
--   "free"      look: not held by this token, not held by another; 1: the token holds something
--   "epoch"     the marker that stands
--   "many"      the token holds so many names that it gets no more
--   "granted"   least ms left, fences
local holder, ttl, not_after, marker, grant_id = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local terms = {holder = holder, ttl = ttl, grant = grant_id, owner = ARGV[6], metadata = ARGV[7], kind = ARGV[8],
    fenced = ARGV[9]}
if not lease_is_good(ttl) or not not_after then
    return redis.error_reply('ERR lease or last moment out of range')
end

local now = clock()
if now > not_after then
    return {now, 'late'}
end

local mine, left, missing, least = {}, {}, 0, ttl
for index, name in ipairs(KEYS) do
    local found = look_at(name)
    local record = redis.call('HMGET', record_of(name), 'holder', 'forced', 'confirmed', 'kind')
    local kind = record[4]
    left[index] = record
    if kind and kind ~= terms.kind then
        return {now, 'kind', index, kind}
    end
    if found ~= 'none' and found ~= 'lock' then
        return {now, 'kind', index, found}
    end
    if found == 'none' then
        missing = missing + 1
    elseif redis.call('HEXISTS', name, holder) == 1 then
        mine[index] = true
        least = math.min(least, redis.call('PTTL', name))
    else
        return held(now, index, holder, holder_of(name, now))
    end
end

local reply = {now, 'repeated', least}
if missing > 0 then
    local refused = refusal(now, ARGV[10], marker, names_of(holder), missing)
    if refused then
        return refused
    end
    reply[2] = 'granted'
end
for index, name in ipairs(KEYS) do
    reply[index + 3] = mine[index] and confirm(name, grant_id) or grant(name, terms, marker, now, left[index])
end
return reply
