-- Gives back the permits a token has, each name by itself. A next holder is not seen to here: how many permits are free
-- decides who is next.
-- KEYS  names   ARGV  1 holder   2 fence ("" = whichever)   3 grant id ("" = whichever; else only that grant and only
--       when nobody has confirmed it)
-- Reply as lock_release, never "handed"
local holder, fence, grant_id = ARGV[1], ARGV[2], ARGV[3]
local now = clock()

local function gone(name)
    local reason = permits_lost(name, holder, now)
    local of = string.match(redis.call('GET', tombstone_of(name, holder)) or '', '^released:%d*:(%d*)')
    redis.call('ZREM', semaphores_of(holder), name)
    if reason == 'released' and (fence == '' or fence == of) then
        return {'already'}
    end
    return {'lost', reason, ''}
end

local function give_back(name, mine)
    local back = 0
    for number = 1, mine.permits do
        back = back + redis.call('ZREM', permits_of(name), permit(mine.grant, number))
    end
    redis.call('HDEL', holders_of(name), holder)
    redis.call('ZREM', semaphores_of(holder), name)
    redis.call('SET', tombstone_of(name, holder), 'released:' .. whole(now) .. ':' .. mine.fence, 'PX', RELEASED_KEPT)
    leave_index(name)
    keep_semaphore(name, 0)
    return {'released', tell_free(name, redis.call('INCRBY', name, back)), now - tonumber(mine.at)}
end

local function release(name)
    local mine = mine_of(name, holder, now)
    if not mine then
        return gone(name)
    end
    if fence ~= '' and fence ~= mine.fence then
        return {'lost', 'superseded', ''}
    end
    if grant_id ~= '' and (grant_id ~= mine.grant or mine.confirmed) then
        return {'lost', 'superseded', ''}
    end
    return give_back(name, mine)
end

local reply = {now}
for index, name in ipairs(KEYS) do
    reply[index + 1] = release(name)
end
return reply
