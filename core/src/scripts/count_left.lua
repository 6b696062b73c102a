-- count_left: returns the count of a semaphore or a latch; writes nothing.
-- Begins with shared/count.lua.
-- KEYS[1] name
-- Returns the number, 0 if there is no key. A key of another type is an error, and so is one that holds no number.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1]) or '0'
if not is_count(value) then
    return wrong_text()
end
return tonumber(value)
