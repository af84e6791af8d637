-- The first part of lock_release: one exclusive lock, held and not fair. Put before what read-write and fair locks share.
-- A release ends leases, each name by itself; or hands the one name on to the next waiter of the same instance.
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

-- The next waiter may have it now; kind is what the name is used as.
local function can_hand_on(name, kind, channel)
    if ARGV[5] ~= 'next' or not lease_is_good(tonumber(ARGV[7])) or now > tonumber(ARGV[8]) then
        return false
    end
    if ARGV[15] == '1' and channel and listeners(channel) > 0 then
        return false
    end
    return kind == ARGV[13] and (marker_stands(ARGV[9]))
end

-- What let_go leaves.
local NOTHING_LEFT = {}

local function hand_on(name)
    local ttl = tonumber(ARGV[7])
    local terms = {holder = ARGV[6], ttl = ttl, grant = ARGV[10], owner = ARGV[11], metadata = ARGV[12],
        kind = ARGV[13], fenced = ARGV[14]}
    return grant(name, terms, ARGV[9], now, NOTHING_LEFT), ttl
end

-- What a release has to know of the grant: fence, grant id, confirmed, since when, kind.
local function grant_of(name)
    return redis.call('HMGET', record_of(name), 'fence', 'grant', 'confirmed', 'at', 'kind')
end

-- The grant is not the one that is to end.
local function is_another(record)
    return (fence ~= '' and fence ~= record[1]) or (grant_id ~= '' and (grant_id ~= record[2] or record[3]))
end

-- Held, and not fair.
local function release_lock(name, record)
    if is_another(record) then
        return {'lost', 'superseded', ''}
    end
    local held = now - (tonumber(record[4]) or now)
    local hands_on = can_hand_on(name, record[5], channel_of(name))
    let_go(name, holder, record[1] or '', now)
    if hands_on then
        local next_fence_text, ttl = hand_on(name)
        return {'handed', 0, held, next_fence_text, ttl}
    end
    return {'released', redis.call('PUBLISH', channel_of(name), UNLOCKED), held}
end

-- Nearly every call is for one such lock. What the others need is defined behind this: to define it takes longer.
if #KEYS == 1 then
    local record = grant_of(KEYS[1])
    if record[5] == 'lock' and is_held_by(KEYS[1], holder) then
        local reply = {now, release_lock(KEYS[1], record)}
        return reply
    end
end
