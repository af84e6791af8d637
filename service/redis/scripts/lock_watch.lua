-- What stands at a name, and what became of holders seen there before. Writes nothing.
-- KEYS  name
-- ARGV  1 how many holders to tell of   2 holders seen before, each "<id>:<fence>;" (no id: a stranger)
-- Reply {now, kind or "", "free" | "held" | "shared" | what else is there, last fence or "", holders, fates}
--   holders  each as holder_of, then its id ('' when it is not one of ours)
--   fates    one for each holder seen: "held", "released", "expired", "forced", "vanished" or "unknown"
local name, most, now = KEYS[1], tonumber(ARGV[1]), clock()

local function fate_by(standing, entry_until, holder)
    if standing then
        return 'held'
    end
    if entry_until then
        return now >= tonumber(entry_until) and 'expired' or 'vanished'
    end
    local stone = redis.call('GET', tombstone_of(name, holder))
    return stone and string.match(stone, '^%a+') or 'unknown'
end

local function rw_fate_of(holder, fence)
    local entry = rw_entry_of(name, holder)
    local is_it = entry and entry.fence == fence
    return fate_by(is_it and rw_is_live(name, holder, entry, now), is_it and entry['until'], holder)
end

-- A force leaves the holder in the record, with a fence that is nobody's.
local function fate_of(holder, fence)
    local record = redis.call('HMGET', record_of(name), 'holder', 'fence', 'until', 'forced')
    if record[1] == holder and record[4] then
        return 'forced'
    end
    local is_it = record[1] == holder and record[2] == fence
    return fate_by(is_it and is_held_by(name, holder), is_it and record[3], holder)
end

local function rw_holders()
    local found = {}
    local entries = redis.call('HGETALL', rw_holders_of(name))
    for index = 1, #entries, 2 do
        local entry = cjson.decode(entries[index + 1])
        if rw_is_live(name, entries[index], entry, now) then
            local ttl, owner, held, fence, metadata = rw_told(entry, tonumber(entry['until']) - now, now)
            found[#found + 1] = {ttl, owner, held, fence, metadata, entries[index]}
        end
    end
    table.sort(found, function(a, b)
        return tonumber(a[4]) < tonumber(b[4])
    end)
    local others = redis.call('HLEN', name) - 1 - #found
    if others > 0 then
        found[#found + 1] = {redis.call('PTTL', name), '', '', '', '', ''}
    end
    return found
end

local record = redis.call('HMGET', record_of(name), 'kind', 'fence', 'holder')
local kind, found, holders = record[1] or '', look_at(name), {}
local reads = kind == RW or (kind == '' and found == 'rw')
local how = found
if found == 'none' then
    how = 'free'
elseif reads and found == 'rw' then
    how = redis.call('HGET', name, 'mode') == 'write' and 'held' or 'shared'
    holders = rw_holders()
elseif not reads and found == 'lock' then
    how = 'held'
    local ttl, owner, held, fence, metadata = holder_of(name, now)
    holders[1] = {ttl, owner, held, fence, metadata, held ~= '' and record[3] or ''}
end

local shown, fates = {}, {}
for index = 1, math.min(#holders, most) do
    shown[index] = holders[index]
end
for holder, fence in string.gmatch(ARGV[2], '(%x*):(%d+);') do
    fates[#fates + 1] = (reads and rw_fate_of or fate_of)(holder, fence)
end
local reply = {now, reads and RW or kind, how, record[2] or '', shown, fates}
return reply
