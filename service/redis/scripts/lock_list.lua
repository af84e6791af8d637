-- Held names in the order of their bytes. Names whose lease ended without a release leave the index here.
-- ARGV  1 prefix   2 name after which to begin ("" = at the first)   3 how many to look at   4 'show' or 'sweep'
-- Reply {names in the index, last name looked at ("" = the end was reached), names that left, r1, r2, ...},
--   show: each {name, kind, "held" | what else is there, fence, then as holder_of}, or the name and then as rw_status, or
--   as semaphore_status with the name first
local SHOWN_PERMITS = 100 -- holders of one semaphore
local now, limit = clock(), tonumber(ARGV[3])
local from = ARGV[2] == '' and '[' .. ARGV[1] or '(' .. ARGV[2]
local names = redis.call('ZRANGEBYLEX', NAMES, from, '[' .. ARGV[1] .. '\255', 'LIMIT', 0, limit)
local reply = {redis.call('ZCARD', NAMES), #names == limit and names[limit] or '', 0}
for _, name in ipairs(names) do
    local found = look_at(name)
    local permits = found == 'string' and look_at_semaphore(name) == SEMAPHORE
    if found == 'none' or (permits and permits_out(name, now) == 0) then
        redis.call('ZREM', NAMES, name)
        reply[3] = reply[3] + 1
    elseif ARGV[4] == 'show' then
        local record = redis.call('HMGET', record_of(name), 'kind', 'fence')
        if found == 'lock' then
            reply[#reply + 1] = {name, record[1] or '', 'held', record[2] or '', holder_of(name, now)}
        elseif permits then
            reply[#reply + 1] = semaphore_status(name, name, SHOWN_PERMITS, now)
        elseif found == 'rw' then
            reply[#reply + 1] = {name, unpack(rw_status(name, now))}
        else
            reply[#reply + 1] = {name, found, found, ''}
        end
    end
end
return reply
