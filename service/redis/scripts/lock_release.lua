-- The second part of lock_release: whatever the first did not answer. Calls and replies stand there.
-- Fair: it is the head of the queue that all share.
local function is_fair_turn(name)
    if queue_fault(name) then
        return false
    end
    purge(name, now)
    return head_of(name) == ARGV[6]
end

-- As rw_release asks for it; a writer that waits elsewhere goes before a reader here.
local function hand_on_rw(name)
    if not can_hand_on(name, RW, rw_channel_of(name)) then
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

local function release_fair(name, record)
    if is_another(record) then
        return {'lost', 'superseded', ''}
    end
    local held = now - (tonumber(record[4]) or now)
    local hands_on = can_hand_on(name, record[5]) and is_fair_turn(name)
    let_go(name, holder, record[1] or '', now)
    if hands_on then
        pop_head(name, ARGV[6])
        local next_fence_text, ttl = hand_on(name)
        return {'handed', 0, held, next_fence_text, ttl}
    end
    wake_next(name, now)
    return {'released', 0, held}
end

local function release(name)
    local record = grant_of(name)
    if record[5] == RW then
        return rw_release(name, holder, fence, grant_id, now, hand_on_rw)
    end
    if not is_held_by(name, holder) then
        return gone(name)
    end
    return (record[5] == 'fair' and release_fair or release_lock)(name, record)
end

local reply = {now}
for index, name in ipairs(KEYS) do
    reply[index + 1] = release(name)
end
return reply
