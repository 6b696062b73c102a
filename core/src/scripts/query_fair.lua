-- query_fair: returns who holds the lock, with its hold count and remaining ms, and how many wait; writes nothing.
-- Begins with shared/one_holder.lua.
-- Begins with shared/waiters.lua.
-- KEYS[1] name   KEYS[2] queue
-- Returns remaining ms (-1: no TTL), owner, count, number of holders, number of waiters. The owner is empty if the lock
-- is free.
-- SPDX-License-Identifier: Apache-2.0
local owner, count = holder_of(KEYS[1])
local waiters, head = redis.call('llen', KEYS[2]), redis.call('lindex', KEYS[2], 0)
if head and not is_owner(head) then
    return wrong_queue()
end
if owner then
    return {redis.call('pttl', KEYS[1]), owner, count, 1, waiters}
end
return redis.call('exists', KEYS[1]) == 0 and {0, '', '0', 0, waiters} or wrong_hash()
