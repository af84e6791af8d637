-- Releases leases, each name by itself; or hands the one name on to the next waiter of the same instance.
-- KEYS  names (one, when there is a next)
-- ARGV  1 holder   2 fence ("" = whichever)   3 grant id ("" = whichever; else only that grant and only when nobody has
--       confirmed it: an undelivered grant)
--       4 own subscribers of the channel (0 or 1)   5 "" or "next", then of the next holder:
--       6 holder   7 lease in ms   8 last moment in Redis Unix ms   9 fence marker believed in   10 grant id   11 owner
--       12 metadata   13 kind   14 prefixes of names with Redisson's fences   15 "1": hand on only when nobody else
--       listens   16 mode   17 instance
-- Reply {now, r1, r2, ...}, each
--   {"released", subscribers that heard it, ms it was held}
--   {"handed", 0, ms it was held, fence, lease}; of a read-write lock: then the mode
--   {"already"}   released less than RELEASED_KEPT ago
--   {"lost", reason, since}
local holder, fence, grant_id = ARGV[1], ARGV[2], ARGV[3]
local now = clock()

local function listeners(channel)
    return redis.call('PUBSUB', 'NUMSUB', channel)[2] - tonumber(ARGV[4])
end

-- The next waiter may have it now.
local function can_hand_on(name, channel)
    if ARGV[5] ~= 'next' or not lease_is_good(tonumber(ARGV[7])) or now > tonumber(ARGV[8]) then
        return false
    end
    if ARGV[15] == '1' and channel and listeners(channel) > 0 then
        return false
    end
    local kind = redis.call('HGET', record_of(name), 'kind')
    return kind == ARGV[13] and (marker_stands(ARGV[9]))
end

-- Fair: it is the head of the queue that all share.
local function is_fair_turn(name)
    if queue_fault(name) then
        return false
    end
    purge(name, now)
    return head_of(name) == ARGV[6]
end

local function hand_on(name)
    local ttl = tonumber(ARGV[7])
    local terms = {holder = ARGV[6], ttl = ttl, grant = ARGV[10], owner = ARGV[11], metadata = ARGV[12],
        kind = ARGV[13], fenced = ARGV[14]}
    return grant(name, terms, ARGV[9], now), ttl
end

-- As rw_release asks for it; a writer that waits elsewhere goes before a reader here.
local function hand_on_rw(name)
    if not can_hand_on(name, rw_channel_of(name)) then
        return nil
    end
    if ARGV[16] == SHARED and rw_is_wanted(name, ARGV[17], now) then
        return nil
    end
    local ttl = tonumber(ARGV[7])
    local terms = {holder = ARGV[6], ttl = ttl, grant = ARGV[10], owner = ARGV[11], metadata = ARGV[12],
        fenced = ARGV[14], mode = ARGV[16]}
    return rw_grant(name, terms, ARGV[9], now), ttl, terms.mode
end

local function gone(name)
    local reason, since = loss_of(name, holder, now)
    local stone = redis.call('GET', tombstone_of(name, holder)) or ''
    local released, of = string.match(stone, '^(released):%d*:(%d*)')
    if reason == 'released' and released and (fence == '' or fence == of) then
        return {'already'}
    end
    redis.call('ZREM', names_of(holder), name)
    if is_fair(name) and look_at(name) == 'none' then
        wake_next(name, now)
    end
    return {'lost', reason, since}
end

local function release(name)
    if is_rw(name) then
        return rw_release(name, holder, fence, grant_id, now, hand_on_rw)
    end
    if not is_held_by(name, holder) then
        return gone(name)
    end
    local record = redis.call('HMGET', record_of(name), 'fence', 'grant', 'confirmed', 'at', 'kind')
    if fence ~= '' and fence ~= record[1] then
        return {'lost', 'superseded', ''}
    end
    if grant_id ~= '' and (grant_id ~= record[2] or record[3]) then
        return {'lost', 'superseded', ''}
    end
    local held = now - (tonumber(record[4]) or now)
    local fair = record[5] == 'fair'
    local hands_on = can_hand_on(name, not fair and channel_of(name)) and (not fair or is_fair_turn(name))
    let_go(name, holder, now)
    if hands_on then
        if fair then
            pop_head(name, ARGV[6])
        end
        local next_fence_text, ttl = hand_on(name)
        return {'handed', 0, held, next_fence_text, ttl}
    end
    if fair then
        wake_next(name, now)
        return {'released', 0, held}
    end
    return {'released', redis.call('PUBLISH', channel_of(name), UNLOCKED), held}
end

local reply = {now}
for index, name in ipairs(KEYS) do
    reply[index + 1] = release(name)
end
return reply
