-- watch_latch: returns whether a latch is open; writes nothing.
-- Begins with shared/count.lua.
-- KEYS[1] name
-- Returns -2 if it is open, as one that does not exist is. Else returns the remaining ms of its key, -1 without a TTL.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1]) or '0'
if not is_count(value) then
    return wrong_text()
end
if tonumber(value) <= 0 then
    return -2
end
return redis.call('pttl', KEYS[1])
