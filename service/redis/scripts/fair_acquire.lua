-- Takes one fair lock, or stands in its queue. The same token that holds it already is given its grant again; the same
-- token that stands in the queue keeps its place.
-- KEYS  name
-- ARGV  1 to 10 as lock_acquire (10 is always "take")   11 keeper of the place   12 "1": stands in the queue when the
--       lock is not to be had
-- Reply as lock_acquire, but
--   "held"      rank in the queue (0 = not in it), then as holder_of; 1: the token holds something
--   "queued"    rank; ms the head has at most, before it counts as dead: the lock is free, and somebody else's turn; 1:
--               the token holds something
--   "epoch"     the marker that stands
local holder, ttl, not_after, marker, grant_id = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local terms = {holder = holder, ttl = ttl, grant = grant_id, owner = ARGV[6], metadata = ARGV[7], kind = ARGV[8],
    fenced = ARGV[9]}
if not lease_is_good(ttl) or not not_after then
    return redis.error_reply('ERR lease or last moment out of range')
end

local now, name = clock(), KEYS[1]
local record = record_of(name)
if now > not_after then
    return {now, 'late'}
end
local kind, found = redis.call('HGET', record, 'kind'), look_at(name)
if kind and kind ~= terms.kind then
    return {now, 'kind', 1, kind}
end
if found ~= 'none' and found ~= 'lock' then
    return {now, 'kind', 1, found}
end
local fault = queue_fault(name)
if fault then
    return {now, 'kind', 1, fault}
end

if found == 'lock' and redis.call('HEXISTS', name, holder) == 1 then
    if redis.call('HEXISTS', waiting_of(name), holder) == 1 then
        give_up(name, holder)
    end
    return {now, 'repeated', math.min(ttl, redis.call('PTTL', name)), confirm(name, grant_id)}
end

local function stand()
    if ARGV[12] ~= '1' then
        return rank_of(name, holder)
    end
    redis.call('HSET', record, 'kind', terms.kind)
    keep_for(record, KIND_KEPT)
    return enter(name, holder, ARGV[11], now)
end

local gone = purge(name, now)
if waiter_of(name, holder) and rank_of(name, holder) == 0 then
    stand()
end
local head = head_of(name)
if found == 'lock' then
    return held(now, stand(), holder, holder_of(name, now))
end
if head and head ~= holder then
    if gone > 0 then
        wake_head(name)
    end
    local rank = stand()
    local _, till = waiter_of(name, head)
    return {now, 'queued', rank, (till or deadline_of(name, head) or now) - now, redis.call('EXISTS', names_of(holder))}
end
local refused = refusal(now, ARGV[10], marker, names_of(holder), 1)
if refused then
    if refused[2] == 'epoch' then
        stand()
    end
    return refused
end
if head then
    pop_head(name, holder)
end
local reply = {now, 'granted', ttl, grant(name, terms, marker, now, left_of(name))}
return reply
