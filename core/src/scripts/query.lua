-- query: who holds the lock, how often and for how long; writes nothing.
-- KEYS[1] name
-- Returns an empty array when it is free; else remaining ms (-1: no lease), owner, count.
-- SPDX-License-Identifier: Apache-2.0
local fields = redis.call('hgetall', KEYS[1])
if #fields == 0 then
    return {}
end
return {redis.call('pttl', KEYS[1]), fields[1], fields[2]}
