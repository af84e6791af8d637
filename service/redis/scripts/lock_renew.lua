-- Prolongs leases to now + ttl, each name by itself. Never creates one. Renewing shows that the grant arrived.
-- KEYS  names
-- ARGV  1 holder   2 lease in ms   3 fence ("" = whichever)
-- Reply {now, r1, r2, ...}, each {"held", fence, owner, kind} or {"lost", reason, since}; of a read-write lock behind the
--       kind: nothing, mode
local holder, ttl, fence = ARGV[1], tonumber(ARGV[2]), ARGV[3]
if not lease_is_good(ttl) then
    return redis.error_reply('ERR lease out of range')
end

local now = clock()

local function renew(name)
    if is_rw(name) then
        return rw_renew(name, holder, ttl, fence, now)
    end
    if not is_held_by(name, holder) then
        redis.call('ZREM', names_of(holder), name)
        return {'lost', loss_of(name, holder, now)}
    end
    local record = record_of(name)
    local fields = redis.call('HMGET', record, 'fence', 'owner', 'kind')
    local standing = fields[1] or '0'
    if fence ~= '' and fence ~= standing then
        return {'lost', 'superseded', ''}
    end
    redis.call('PEXPIRE', name, ttl)
    redis.call('HSET', record, 'until', whole(now + ttl), 'confirmed', 1)
    keep_for(record, ttl + KIND_KEPT)
    keep_for(names_of(holder), ttl + LOST_KEPT)
    return {'held', standing, fields[2] or '', fields[3] or ''}
end

local reply = {now}
for index, name in ipairs(KEYS) do
    reply[index + 1] = renew(name)
end
return reply
