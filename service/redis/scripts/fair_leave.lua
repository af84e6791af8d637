-- A place in the queue of a fair lock is given up, unless another place of the same token keeps it by now.
-- KEYS  name   ARGV  1 holder   2 keeper
-- Reply {now, 1 = given up | 0}
local now, name, holder = clock(), KEYS[1], ARGV[1]
if waiter_of(name, holder) ~= ARGV[2] or queue_fault(name) then
    return {now, 0}
end
local reply, was_head = {now, 1}, head_of(name) == holder
give_up(name, holder)
if was_head and look_at(name) == 'none' then
    wake_next(name, now)
end
return reply
