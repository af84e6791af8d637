-- Names a token holds, or held until it has learned of the loss, in the order of their bytes.
-- ARGV  1 holder   2 name after which to begin ("" = at the first)   3 how many at most   4 "permits": semaphores
--       instead
-- Reply {name, ...}
local index = ARGV[4] == 'permits' and 'lockstock:token-permits:' .. ARGV[1] or names_of(ARGV[1])
local from = ARGV[2] == '' and '-' or '(' .. ARGV[2]
local reply = redis.call('ZRANGEBYLEX', index, from, '+', 'LIMIT', 0, ARGV[3])
return reply
