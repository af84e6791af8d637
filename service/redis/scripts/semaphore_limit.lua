-- Changes how many permits a semaphore has. Fewer than are out: nobody is given any until enough came back.
-- KEYS  name   ARGV  1 limit
-- Reply {now, "kind", what is there} | {now, "none"} | {now, "done", limit before}
local name, limit, now = KEYS[1], tonumber(ARGV[1]), clock()
if not count_is_good(limit, LIMIT_MAX) then
    return redis.error_reply('ERR limit out of range')
end
local found = look_at_semaphore(name)
if found ~= SEMAPHORE then
    return {now, found == 'none' and 'none' or 'kind', found}
end
take_back(name, now)
local before = limit_of(name)
if before ~= limit then
    tell_free(name, redis.call('INCRBY', name, limit - before))
end
local reply = {now, 'done', before}
return reply
