-- Says that a wait of a token that holds something lasts, and looks whether it closes a cycle: a chain of tokens in which
-- each waits for a name that the next holds, and the last for one of the first. A cycle is refused by its newest wait
-- alone, so each wait looks only through older ones. Nobody is refused on a word that may be old: a cycle is suspected
-- first, those in it are asked to say again that they wait, and only waits said after that count.
-- KEYS  names it waits for; none: the wait is over
-- ARGV  1 holder   2 id of the wait   3 since when in Redis Unix ms   4 mode (of a read-write lock)   5 ms the word counts
--       6 stamp after which the others must have said that they wait; "0": nothing is suspected yet
-- Reply {now, what, ...} with what
--   "over"
--   "idle"      the token holds nothing: its wait closes no cycle, and is not written down
--   "clear"     no cycle
--   "cut"       none was found, and not all was looked at
--   "suspect"   stamp of this search
--   "deadlock"  the cycle from this token on, five for each token: a name it holds, owner, fence, the name it waits for,
--               ms it has waited. The wait is not written down any more
local LOOKS_MAX = 1000 -- names and holders looked at by one search
local WAITS_MAX = 64 -- of one token, written down
local SHOWN_MAX = 64 -- links of a cycle told of
local WHO_WAITS = 'lockstock:who-waits' -- channel: holders whose waits are to be said
local me, id, since, fresh = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[6])
local now, left = clock(), 0 -- looks that the search has left

local function waits_of(holder)
    return 'lockstock:waits:' .. holder
end

local function stamp()
    local time = redis.call('TIME')
    return time[1] * 1000000 + time[2]
end

-- Waits of the token whose word still counts. Writes nothing.
local function living(holder)
    local fields, waits = redis.call('HGETALL', waits_of(holder)), {}
    for index = 1, #fields, 2 do
        local wait = cjson.decode(fields[index + 1])
        wait.id = fields[index]
        wait.since, wait.first = tonumber(wait.since), tonumber(wait.first)
        if tonumber(wait['until']) > now then
            waits[#waits + 1] = wait
        end
    end
    return waits
end

-- Of instances that died, while other waits of the token go on.
local function purge_dead()
    local fields = redis.call('HGETALL', waits_of(me))
    for index = 1, #fields, 2 do
        if tonumber(cjson.decode(fields[index + 1])['until']) <= now then
            redis.call('HDEL', waits_of(me), fields[index])
        end
    end
end

local mine = {id = id, since = since, mode = ARGV[4], names = KEYS}

-- Its first word decides between waits of the same millisecond.
local function say()
    local key, said = waits_of(me), whole(stamp())
    local before = redis.call('HGET', key, id)
    mine.first = tonumber(before and cjson.decode(before).first or said)
    if not before and redis.call('HLEN', key) >= WAITS_MAX then
        purge_dead()
        if redis.call('HLEN', key) >= WAITS_MAX then
            return
        end
    end
    redis.call('HSET', key, id, cjson.encode({since = ARGV[3], first = whole(mine.first), said = said, mode = ARGV[4],
        names = KEYS, ['until'] = whole(now + ARGV[5])}))
    keep_for(key, tonumber(ARGV[5]))
end

-- Our readers, when they keep out one of this mode: a reader is kept out while a writer waits.
local function readers_of(name, mode)
    local found = {}
    if mode == SHARED and not rw_is_wanted(name, '', now) then
        return found
    end
    local holders = redis.call('ZRANGEBYSCORE', rw_ends_of(name), '(' .. whole(now), '+inf', 'LIMIT', 0, left)
    for _, holder in ipairs(holders) do
        local entry = rw_entry_of(name, holder)
        if rw_is_live(name, holder, entry, now) then
            found[#found + 1] = {holder = holder, owner = entry.owner, fence = entry.fence}
        end
    end
    return found
end

-- Tokens of ours that hold the name now, so that one of this mode must wait: {holder, owner, fence} of each.
local function holders_of(name, mode)
    local there = look_at(name)
    if there == 'rw' and redis.call('HGET', name, 'mode') == 'read' then
        return readers_of(name, mode)
    end
    if there == 'rw' then
        local entry = rw_writer_of(name, now)
        return entry and {{holder = redis.call('HGET', record_of(name), 'writer'), owner = entry.owner,
            fence = entry.fence}} or {}
    end
    local record = redis.call('HMGET', record_of(name), 'holder', 'owner', 'fence')
    if there ~= 'lock' or not record[1] or redis.call('HEXISTS', name, record[1]) == 0 then
        return {}
    end
    return {{holder = record[1], owner = record[2], fence = record[3]}}
end

local function is_older(wait)
    if wait.since ~= since then
        return wait.since < since
    end
    return wait.first < mine.first or (wait.first == mine.first and wait.id < id)
end

-- A step: a token, a name it holds, the step before it and the wait that led from there. Returns the step that came
-- back to this token, or nil; all steps; tokens that wait for nothing, as far as is written down.
local function search(said_after)
    local steps, seen, silent = {{holder = me, waits = {mine}}}, {[me] = true}, {}
    left = LOOKS_MAX

    local function follow(step, wait, name)
        local found = left > 0 and holders_of(name, wait.mode) or {}
        left = left - 1 - #found
        for _, one in ipairs(found) do
            local to = {holder = one.holder, name = name, owner = one.owner, fence = one.fence, from = step, by = wait}
            if one.holder == me and step.from then
                return to
            end
            if not seen[one.holder] then
                seen[one.holder] = true
                steps[#steps + 1] = to
            end
        end
    end

    local function go_on_from(step)
        local waits = step.waits or living(step.holder)
        if #waits == 0 then
            silent[#silent + 1] = step.holder
        end
        for _, wait in ipairs(waits) do
            local counts = wait == mine or (is_older(wait) and tonumber(wait.said) > said_after)
            for _, name in ipairs(counts and wait.names or {}) do
                local last = follow(step, wait, name)
                if last then
                    return last
                end
            end
        end
    end

    for _, step in ipairs(steps) do
        local last = go_on_from(step)
        if last then
            return last, steps, silent
        end
    end
    return nil, steps, silent
end

-- From the step that came back to this token: first this token, then each in the order of the chain.
local function told(last)
    local chain, reply, step = {}, {now, 'deadlock'}, last
    while step.from do
        table.insert(chain, 1, step)
        step = step.from
    end
    table.insert(chain, 1, last)
    for index = 1, math.min(#chain - 1, SHOWN_MAX) do
        local link, onward = chain[index], chain[index + 1]
        for _, part in ipairs({link.name, link.owner or '', link.fence or '', onward.name,
            whole(math.max(now - onward.by.since, 0))}) do
            reply[#reply + 1] = part
        end
    end
    return reply
end

local function ask(holders)
    if #holders > 0 then
        redis.call('PUBLISH', WHO_WAITS, table.concat(holders, ' '))
    end
end

local function look()
    local last, steps, silent
    if fresh > 0 then
        last = search(fresh)
        if last then
            redis.call('HDEL', waits_of(me), id)
            return told(last)
        end
    end
    last, steps, silent = search(0)
    if not last then
        ask(silent)
        return {now, left > 0 and 'clear' or 'cut'}
    end
    local others = {}
    for index = 2, #steps do
        others[#others + 1] = steps[index].holder
    end
    ask(others)
    return {now, 'suspect', whole(stamp())}
end

local reply
if #KEYS == 0 then
    redis.call('HDEL', waits_of(me), id)
    reply = {now, 'over'}
elseif redis.call('EXISTS', names_of(me)) == 0 then
    redis.call('HDEL', waits_of(me), id)
    reply = {now, 'idle'}
else
    say()
    reply = look()
end
return reply
