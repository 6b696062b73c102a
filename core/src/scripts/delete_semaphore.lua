-- delete_semaphore: there is no semaphore any more. Waiters go on waiting for permits, as those of RSemaphore do.
-- Begins with shared/count.lua.
-- KEYS[1] name
-- Returns 1 when there was one, else 0. A key of another type, or one that holds no number, is an error.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
if value and not is_count(value) then
    return refuse_text()
end
return redis.call('del', KEYS[1])
