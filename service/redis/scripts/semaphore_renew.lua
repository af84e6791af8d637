-- Prolongs the permits a token has to now + ttl. Never gives any. Renewing shows that the grant arrived.
-- KEYS, ARGV, reply as lock_renew, for one name; behind the kind: how many permits
local name, holder, ttl, fence = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]
if not lease_is_good(ttl) then
    return redis.error_reply('ERR lease out of range')
end

local now = clock()
if look_at_semaphore(name) == SEMAPHORE then
    take_back(name, now)
end
local mine = entry_of(name, holder)
if look_at_semaphore(name) ~= SEMAPHORE or not is_live(name, mine) then
    return {now, {'lost', permits_lost(name, holder, now)}}
end
if fence ~= '' and fence ~= mine.fence then
    return {now, {'lost', 'superseded', ''}}
end
for number = 1, mine.permits do
    redis.call('ZADD', permits_of(name), 'XX', whole(now + ttl), permit(mine.grant, number))
end
mine['until'] = whole(now + ttl)
mine.confirmed = 1
write_entry(name, holder, mine)
keep_semaphore(name, ttl)
local reply = {now, {'held', mine.fence, mine.owner, SEMAPHORE, mine.permits}}
return reply
