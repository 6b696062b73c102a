-- query: returns who holds the lock, with its hold count and remaining ms; writes nothing.
-- Begins with shared/one_holder.lua.
-- KEYS[1] name
-- Returns an empty array if it is free; else remaining ms (-1: no TTL), owner, count. A key of another type, or a hash
-- that is no such lock, is an error.
-- SPDX-License-Identifier: Apache-2.0
local owner, count = holder_of(KEYS[1])
if not owner then
    return redis.call('pttl', KEYS[1]) == -2 and {} or wrong_hash()
end
return {redis.call('pttl', KEYS[1]), owner, count}
