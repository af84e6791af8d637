-- What stands at a semaphore's name. Writes nothing.
-- KEYS  name   ARGV  1 how many holders to tell of
-- Reply {now, kind or "", "none" | "semaphore" | what else is there, last fence or "", limit, free, permits of others,
--   h1, h2, ...}, each holder of ours {ms left, owner, ms held, fence, metadata, permits}, first come first
local name, most, now = KEYS[1], tonumber(ARGV[1]), clock()
local record = redis.call('HMGET', record_of(name), 'kind', 'fence')
local found = look_at_semaphore(name)
if found ~= SEMAPHORE then
    return {now, record[1] or '', found, record[2] or ''}
end

local holders, ours = {}, 0
local entries = redis.call('HVALS', holders_of(name))
for _, text in ipairs(entries) do
    local entry = cjson.decode(text)
    if tonumber(entry['until']) > now and is_live(name, entry) then
        ours = ours + entry.permits
        holders[#holders + 1] = entry
    end
end
table.sort(holders, function(a, b)
    return tonumber(a.fence) < tonumber(b.fence)
end)

local out = redis.call('ZCOUNT', permits_of(name), '(' .. whole(now), '+inf')
local limit = limit_of(name)
local reply = {now, SEMAPHORE, SEMAPHORE, record[2] or '', limit, limit - out, out - ours}
for index = 1, math.min(#holders, most) do
    local entry = holders[index]
    reply[#reply + 1] = {tonumber(entry['until']) - now, entry.owner, whole(now - tonumber(entry.at)), entry.fence,
        entry.metadata, entry.permits}
end
return reply
