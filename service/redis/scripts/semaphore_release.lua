-- Gives back the permits a token has. A next holder is not seen to here: how many permits are free decides who is next.
-- KEYS  name   ARGV  1 holder   2 fence ("" = whichever)   3 grant id ("" = whichever; else only that grant and only when
--       nobody has confirmed it)
-- Reply as lock_release, never "handed"
local name, holder, fence, grant_id = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local now = clock()
if look_at_semaphore(name) == SEMAPHORE then
    take_back(name, now)
end

local function gone()
    local reason = permits_lost(name, holder, now)
    local of = string.match(redis.call('GET', tombstone_of(name, holder)) or '', '^released:%d*:(%d*)')
    if reason == 'released' and (fence == '' or fence == of) then
        return {'already'}
    end
    return {'lost', reason, ''}
end

local function give_back(mine)
    local back = 0
    for number = 1, mine.permits do
        back = back + redis.call('ZREM', permits_of(name), permit(mine.grant, number))
    end
    redis.call('HDEL', holders_of(name), holder)
    redis.call('SET', tombstone_of(name, holder), 'released:' .. whole(now) .. ':' .. mine.fence, 'PX', RELEASED_KEPT)
    keep_semaphore(name, 0)
    return {'released', tell_free(name, redis.call('INCRBY', name, back)), now - tonumber(mine.at)}
end

local function release()
    local mine = entry_of(name, holder)
    if look_at_semaphore(name) ~= SEMAPHORE or not is_live(name, mine) then
        return gone()
    end
    if fence ~= '' and fence ~= mine.fence then
        return {'lost', 'superseded', ''}
    end
    if grant_id ~= '' and (grant_id ~= mine.grant or mine.confirmed) then
        return {'lost', 'superseded', ''}
    end
    return give_back(mine)
end

local reply = {now, release()}
return reply
