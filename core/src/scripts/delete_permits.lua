-- delete_permits: deletes a permit semaphore and the leases of its permits, and publishes a message. Waiters for
-- permits go on waiting.
-- Begins with shared/count.lua.
-- Begins with shared/permit_ids.lua.
-- KEYS[1] name   KEYS[2] leases   ARGV[1] channel
-- Returns 1 if there was one, else 0. Keys of another type or shape are an error.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local first = redis.call('zrange', KEYS[2], 0, 0)[1]
if value and not is_count(value) then
    return wrong_text()
end
if first and not is_permit(first) then
    return wrong_leases()
end
if redis.call('del', KEYS[1], KEYS[2]) == 0 then
    return 0
end
redis.call('publish', ARGV[1], '0')
return 1
