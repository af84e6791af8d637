-- Takes permits of a semaphore, all of them or none. The same token that has some already is given its grant again.
-- KEYS  name
-- ARGV  1..10 as lock_acquire   11 permits   12 how many the semaphore has, 0 = as many as it has
-- Reply as lock_acquire, for one name; with
--   "kind"      1, what the name is used as, and when it is a semaphore with another limit or fewer permits than
--               asked for: that limit; "none" when it is to have as many as it has, and there is none
--   "held"      1, ms until the first permit ends or -1, and nothing of its holder
--   "repeated", "granted"   ms left, fence, permits
local name, holder, ttl, not_after = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local marker, grant_id, count, limit = ARGV[4], ARGV[5], tonumber(ARGV[11]), tonumber(ARGV[12])
if not lease_is_good(ttl) or not not_after then
    return redis.error_reply('ERR lease or last moment out of range')
end
if not count_is_good(count, PERMITS_MAX) or (limit ~= 0 and not count_is_good(limit, LIMIT_MAX)) then
    return redis.error_reply('ERR permits or limit out of range')
end

local now = clock()
if now > not_after then
    return {now, 'late'}
end
local found = look_at_semaphore(name)
if found ~= SEMAPHORE and (found ~= 'none' or limit == 0) then
    return {now, 'kind', 1, found}
end
take_back(name, now)
local standing_limit = found == SEMAPHORE and limit_of(name) or limit
if (limit ~= 0 and limit ~= standing_limit) or count > standing_limit then
    return {now, 'kind', 1, SEMAPHORE, whole(standing_limit)}
end

local mine = entry_of(name, holder)
if is_live(name, mine) then
    if mine.grant ~= grant_id then
        mine.confirmed = 1
        write_entry(name, holder, mine)
    end
    return {now, 'repeated', tonumber(mine['until']) - now, mine.fence, mine.permits}
end

local free = tonumber(redis.call('GET', name)) or limit - redis.call('ZCARD', permits_of(name))
if free < count then
    local first = redis.call('ZRANGE', permits_of(name), 0, 0, 'WITHSCORES')
    local ends = tonumber(first[2] or NEVER)
    return {now, 'held', 1, ends < NEVER and ends - now or -1, '', '', '', ''}
end
local refused = refusal(now, ARGV[10], marker, semaphores_of(holder), 1)
if refused then
    return refused
end

local fence = next_fence(name, marker, '')
local record = record_of(name)
if found == 'none' then
    redis.call('SET', name, free, 'PX', ttl + KIND_KEPT)
    redis.call('HSET', record, 'made', 1)
end
redis.call('HSET', record, 'kind', SEMAPHORE, 'fence', fence)
redis.call('DECRBY', name, count)
for number = 1, count do
    redis.call('ZADD', permits_of(name), whole(now + ttl), permit(grant_id, number))
end
write_entry(name, holder, {grant = grant_id, fence = fence, permits = count, at = whole(now), ['until'] = whole(now + ttl),
    owner = ARGV[6], metadata = ARGV[7]})
redis.call('ZADD', semaphores_of(holder), 0, name)
redis.call('ZADD', NAMES, 0, name)
keep_for(semaphores_of(holder), ttl + LOST_KEPT)
keep_semaphore(name, ttl)
local reply = {now, 'granted', ttl, fence, count}
return reply
