-- Takes all permits from all who have some, and draws a fence above all that were ever given.
-- KEYS  name   ARGV  1 fence marker believed in
-- Reply as lock_force; the holder told of is the newest of ours
local now, name = clock(), KEYS[1]
local found = look_at_semaphore(name)
if found ~= SEMAPHORE and found ~= 'none' then
    return {now, 'kind', found}
end
local stands, standing = marker_stands(ARGV[1])
if not stands then
    return {now, 'epoch', standing}
end

-- Everybody of ours is told when they come back. The newest holder, or nil.
local function bury_all()
    local entries, newest = redis.call('HGETALL', holders_of(name)), nil
    for index = 1, #entries, 2 do
        local entry = cjson.decode(entries[index + 1])
        local live = is_live(name, entry)
        if live and (not newest or tonumber(entry.fence) > tonumber(newest.fence)) then
            newest = entry
        end
        redis.call('SET', tombstone_of(name, entries[index]), live and 'forced:' or 'expired:', 'PX', LOST_KEPT)
    end
    redis.call('DEL', holders_of(name))
    return newest
end

local reply = {now, 'free', next_fence(name, ARGV[1], '')}
if found == SEMAPHORE then
    take_back(name, now)
    local out = redis.call('ZCARD', permits_of(name))
    local newest = bury_all()
    if out > 0 then
        reply = {now, 'forced', reply[3], -1, '', '', '', ''}
    end
    if newest then
        reply = {now, 'forced', reply[3], tonumber(newest['until']) - now, newest.owner, whole(now - tonumber(newest.at)),
            newest.fence, newest.metadata}
    end
    redis.call('DEL', permits_of(name))
    leave_index(name)
    tell_free(name, redis.call('INCRBY', name, out))
    keep_semaphore(name, 0)
end
if redis.call('EXISTS', record_of(name)) == 1 then
    redis.call('HSET', record_of(name), 'fence', reply[3])
end
return reply
