-- Sets the fence marker of a new epoch, unless a good one stands already.
-- ARGV  1 epoch (0 = only look)   2 run id of this server   3 marker that is replaced although it is good ("" = none)
-- Reply {1, marker that stands now} or {0, standing marker}: a new epoch is needed, above the standing one
local epoch, run_id = tonumber(ARGV[1]), ARGV[2]
local standing = redis.call('HGET', FENCE, 'marker') or ''
local standing_epoch, standing_run = string.match(standing, '^(%d+):(.+)$')
local n = tonumber(redis.call('HGET', FENCE, 'n'))
if standing_run == run_id and n and n + FENCE_SPARE < FENCE_SPAN and (epoch == 0 or standing ~= ARGV[3]) then
    return {1, standing}
end
if epoch <= (tonumber(standing_epoch) or 0) then
    return {0, standing}
end
local reply = {1, whole(epoch) .. ':' .. run_id}
redis.call('HSET', FENCE, 'marker', reply[2], 'n', 0)
return reply
