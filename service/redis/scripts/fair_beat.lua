-- Says which waiters of this instance live, and looks how the lock and its queue stand. Dead waiters of ours are given
-- up, whichever instance they belong to.
-- KEYS  name   ARGV  1 "holder keeper holder keeper ..." of places ("": only looks)
-- Reply {now, ms left (-2 = free), owner, held for ms, fence, metadata (as holder_of), head of the queue or "",
--    ms the head has at most before it counts as dead, r1, r2, ...}, each the rank of a place, 0: it stands there no more
local now, name = clock(), KEYS[1]
if queue_fault(name) or (look_at(name) ~= 'none' and look_at(name) ~= 'lock') then
    return {now, -2, '', '', '', '', '', 0}
end

local function places()
    return string.gmatch(ARGV[1], '(%S+) (%S+)')
end

-- Waiters of ours, of all instances; the dead are given up and not among them.
local function living()
    local fields, alive, dead = redis.call('HGETALL', waiting_of(name)), {}, 0
    for i = 1, #fields, 2 do
        local till = tonumber(string.match(fields[i + 1], '^%S+ (%d+) '))
        if till and till <= now then
            give_up(name, fields[i])
            dead = dead + 1
        elseif till then
            alive[fields[i]] = true
        end
    end
    return alive, dead
end

-- Those this call speaks for, in the order of the queue: rank and deadline.
local function go_through(mine, alive)
    local ranks, ahead = {}, now
    for index, owner in ipairs(redis.call('LRANGE', queue_of(name), 0, -1)) do
        ahead = ahead + (alive[owner] and FAIR_LIFE or FAIR_FOREIGN_WAIT)
        if mine[owner] then
            ranks[owner] = index
            redis.call('ZADD', deadlines_of(name), whole(ahead), owner)
        end
    end
    return ranks
end

local mine, ranks, gone = {}, {}, 0
for holder, keeper in places() do
    local kept_by, till, number = waiter_of(name, holder)
    if kept_by == keeper then
        mine[holder] = true
        if till > now and rank_of(name, holder) == 0 then
            put_back(name, holder, number, now)
        end
        note_waiter(name, holder, keeper, now + FAIR_LIFE, number)
    end
end
if ARGV[1] ~= '' then
    local alive, dead = living()
    gone = dead
    ranks = go_through(mine, alive)
end
gone = gone + purge(name, now)
if gone > 0 and look_at(name) == 'none' then
    wake_head(name)
end
local reply, head = {now, holder_of(name, now)}, head_of(name)
reply[7], reply[8] = head or '', 0
if head then
    local _, till = waiter_of(name, head)
    reply[8] = (till or deadline_of(name, head) or now) - now
end
for holder in places() do
    reply[#reply + 1] = ranks[holder] or 0
end
return reply
