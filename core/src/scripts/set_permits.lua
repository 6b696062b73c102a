-- set_permits: sets the number of all permits of a permit semaphore, those in use included. The number of available
-- permits may become negative.
-- Effects as RPermitExpirableSemaphore's setPermits (wire format 2.11). A new value is published only if it is above 0.
-- Begins with shared/permit_ids.lua.
-- Begins with shared/count.lua.
-- Begins with shared/record.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] leases   KEYS[3] record of this operation
-- ARGV[1] TTL of the record in ms   ARGV[2] number of the operation   ARGV[3] permits   ARGV[4] channel
-- Returns 1. May be sent twice: the record shows that it was done.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local taken = redis.call('zcard', KEYS[2])
local recorded = recorded_in(KEYS[3])
if recorded then
    return 1
end
local first = redis.call('zrange', KEYS[2], 0, 0)[1]
if first and not is_permit(first) then
    return wrong_leases()
end
if value and not is_count(value) then
    return wrong_text()
end
local more = value and ARGV[3] - (value + taken) or ARGV[3]
local denied = missing_permission(KEYS[3], 'set')
if denied then
    return denied
end
local available = redis.call('incrby', KEYS[1], string.format('%.0f', more))
record(KEYS[3], 1)
if tonumber(more) ~= 0 and available > 0 then
    redis.call('publish', ARGV[4], string.format('%.0f', available))
end
return 1
