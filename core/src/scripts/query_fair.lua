-- query_fair: who holds the lock, how often and for how long, and how many wait; writes nothing.
-- KEYS[1] name   KEYS[2] queue
-- Returns remaining ms (-1: no lease), owner, count, number of holders, waiters; the owner is empty when it is free.
-- SPDX-License-Identifier: Apache-2.0
local fields = redis.call('hgetall', KEYS[1])
local waiters = redis.call('llen', KEYS[2])
if #fields == 0 then
    return {0, '', '0', 0, waiters}
end
return {redis.call('pttl', KEYS[1]), fields[1], fields[2], 1, waiters}
