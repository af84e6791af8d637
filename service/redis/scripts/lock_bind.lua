-- Names that are kept in the database: nobody gets them here while they are bound. Tells those who wait when one is free.
-- KEYS  names   ARGV  1 for how long from now in ms   2 "1": they are free now
-- Reply {now, r1, r2, ...}, each "bound", or what else the name is used as
local now, ms = clock(), tonumber(ARGV[1])
if not lease_is_good(ms) then
    return redis.error_reply('ERR time out of range')
end

local function bind(name)
    local record = record_of(name)
    local kind = redis.call('HGET', record, 'kind')
    if kind and kind ~= 'database' then
        return kind
    end
    local found = look_at(name)
    if found ~= 'none' then
        return found
    end
    redis.call('HSET', record, 'kind', 'database')
    keep_for(record, ms + KIND_KEPT)
    if ARGV[2] == '1' then
        redis.call('PUBLISH', channel_of(name), UNLOCKED)
    end
    return 'bound'
end

local reply = {now}
for index, name in ipairs(KEYS) do
    reply[index + 1] = bind(name)
end
return reply
