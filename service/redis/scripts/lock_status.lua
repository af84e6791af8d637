-- What stands at names. Writes nothing.
-- KEYS  names
-- Reply {now, r1, r2, ...}, each {kind or "", "free" | "held" | what else is there, last fence or "", then as holder_of};
--       as rw_status of a read-write lock
local now = clock()

local function status(name)
    local found = look_at(name)
    local record = redis.call('HMGET', record_of(name), 'kind', 'fence')
    local kind, fence = record[1] or '', record[2] or ''
    if kind == RW or (kind == '' and found == 'rw') then
        return rw_status(name, now)
    end
    if found == 'none' then
        return {kind, 'free', fence}
    end
    if found ~= 'lock' then
        return {kind, found, fence}
    end
    return {kind, 'held', fence, holder_of(name, now)}
end

local reply = {now}
for index, name in ipairs(KEYS) do
    reply[index + 1] = status(name)
end
return reply
