-- count_permits: returns how many permits of a permit semaphore are available or in use, or both; writes nothing.
-- Begins with shared/clock.lua.
-- Begins with shared/permit_ids.lua.
-- Begins with shared/count.lua.
-- KEYS[1] name   KEYS[2] leases   ARGV[1] 0: available, 1: in use, 2: both
-- Returns the number. A permit whose lease is over counts as available, also before an acquire gives it back.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local now = string.format('%.0f', server_time())
local taken = redis.call('zcount', KEYS[2], '(' .. now, '+inf')
local first = redis.call('zrange', KEYS[2], 0, 0)[1]
if first and not is_permit(first) then
    return wrong_leases()
end
if value and not is_count(value) then
    return wrong_text()
end
if ARGV[1] == '1' then
    return taken
end
if not value then
    return 0
end
local available = tonumber(value) + redis.call('zcount', KEYS[2], 0, now)
return ARGV[1] == '2' and available + taken or available
