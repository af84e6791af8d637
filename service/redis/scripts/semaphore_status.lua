-- What stands at a semaphore's name. Writes nothing.
-- KEYS  name   ARGV  1 how many holders to tell of
-- Reply as semaphore_status, the first element the time
local now = clock()
local reply = semaphore_status(KEYS[1], now, tonumber(ARGV[1]), now)
return reply
