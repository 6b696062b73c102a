-- delete_permits: there is no permit semaphore any more, and no lease of its permits. Waiters go on waiting.
-- Begins with shared/count.lua.
-- Begins with shared/permits.lua.
-- KEYS[1] name   KEYS[2] leases
-- Returns 1 when there was one, else 0. Keys of another type or shape are an error.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local first = redis.call('zrange', KEYS[2], 0, 0)[1]
if value and not is_count(value) then
    return refuse_text()
end
if first and not is_permit(first) then
    return refuse_leases()
end
return redis.call('del', KEYS[1], KEYS[2]) > 0 and 1 or 0
