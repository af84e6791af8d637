-- Prolongs the permits a token has to now + ttl, each name by itself. Never gives any. Renewing shows that the grant
-- arrived.
-- KEYS, ARGV, reply as lock_renew; behind the kind: how many permits
local holder, ttl, fence = ARGV[1], tonumber(ARGV[2]), ARGV[3]
if not lease_is_good(ttl) then
    return redis.error_reply('ERR lease out of range')
end

local now = clock()

local function prolong(name, mine)
    for number = 1, mine.permits do
        redis.call('ZADD', permits_of(name), 'XX', whole(now + ttl), permit(mine.grant, number))
    end
    mine['until'] = whole(now + ttl)
    mine.confirmed = 1
    write_entry(name, holder, mine)
    keep_for(semaphores_of(holder), ttl + LOST_KEPT)
    keep_semaphore(name, ttl)
    return {'held', mine.fence, mine.owner, SEMAPHORE, mine.permits}
end

local function renew(name)
    local mine = mine_of(name, holder, now)
    if not mine then
        redis.call('ZREM', semaphores_of(holder), name)
        return {'lost', permits_lost(name, holder, now)}
    end
    if fence ~= '' and fence ~= mine.fence then
        return {'lost', 'superseded', ''}
    end
    return prolong(name, mine)
end

local reply = {now}
for index, name in ipairs(KEYS) do
    reply[index + 1] = renew(name)
end
return reply
