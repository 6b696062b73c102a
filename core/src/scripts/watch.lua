-- watch: whether a lock is free, and if not for how long to wait before the next look; writes nothing.
-- KEYS[1] name
-- Returns the remaining ms, at most 250 of a plain lock, whose release is told elsewhere or not at all; -1 if the lock
-- has no lease, -2 when it is free. A key of another type is an error, and so is a string that is no plain lock.
-- SPDX-License-Identifier: Apache-2.0
local ttl = redis.call('pttl', KEYS[1])
if ttl >= 0 and redis.call('type', KEYS[1]).ok == 'string' then
    local word = redis.call('get', KEYS[1])
    if #word >= 16 and string.find(word, '^[%w+/=_:.%-]+$') and not string.find(word, '^%d+$') then
        return ttl < 250 and ttl or 250
    end
end
if redis.call('hlen', KEYS[1]) == 0 then
    return -2
end
return ttl
