-- Takes a lock from whoever holds it, and draws a fence above all it was ever given.
-- KEYS  name   ARGV  1 fence marker believed in   2 prefixes of names with Redisson's fences
-- Reply {now, "kind", what is there} | {now, "epoch", marker that stands} | {now, "free", fence}
--    or {now, "forced", fence, then as holder_of}
local now, name = clock(), KEYS[1]
local found, kind = look_at(name), redis.call('HGET', record_of(name), 'kind')
if kind == 'database' or kind == 'semaphore' then
    return {now, 'kind', kind}
end
if found ~= 'none' and found ~= 'lock' and found ~= 'rw' then
    return {now, 'kind', found}
end
local stands, standing = marker_stands(ARGV[1])
if not stands then
    return {now, 'epoch', standing}
end
local reply = {now, 'free', next_fence(name, ARGV[1], ARGV[2])}
local record = record_of(name)
if found == 'rw' then
    reply = {now, 'forced', reply[3], rw_force(name, now)}
elseif found == 'lock' then
    reply = {now, 'forced', reply[3], holder_of(name, now)}
    redis.call('DEL', name)
    redis.call('ZREM', NAMES, name)
    if redis.call('HEXISTS', record, 'holder') == 1 then
        redis.call('HSET', record, 'forced', 1)
    end
    redis.call('PUBLISH', channel_of(name), UNLOCKED)
    wake_next(name, now) -- who waits for a fair lock listens elsewhere
end
if redis.call('EXISTS', record) == 1 then
    redis.call('HSET', record, 'fence', reply[3])
    redis.call('PEXPIRE', record, KIND_KEPT)
end
return reply
