-- add_semaphore: adds permits to a semaphore, or removes some; the number of permits may become negative.
-- Effects as RSemaphore's addPermits (wire format 2.10), except that a TTL is kept, and a new value that is not above 0
-- is not published (W-16).
-- Begins with shared/count.lua.
-- Begins with shared/record.lua.
-- Begins with shared/permit_ids.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] record of this operation   KEYS[3] leases of a permit semaphore, or none
-- ARGV[1] TTL of the record in ms   ARGV[2] number of the operation   ARGV[3] permits   ARGV[4] channel
-- Returns 1. Returns -1 if there would be too many permits, those in use included: then the semaphore stays unchanged.
-- May be sent twice: the record repeats the outcome of the first execution.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local taken = KEYS[3] and redis.call('zcard', KEYS[3]) or 0
local recorded = recorded_in(KEYS[2])
if recorded then
    return tonumber(recorded) or 0
end
local first = taken > 0 and redis.call('zrange', KEYS[3], 0, 0)[1]
if first and not is_permit(first) then
    return wrong_leases()
end
if value and not is_count(value) then
    return wrong_text()
end
if tonumber(ARGV[3]) > 0 and (tonumber(value) or 0) + taken + ARGV[3] > PERMITS_MAX then
    record(KEYS[2], -1)
    return -1
end
local denied = missing_permission(KEYS[2], 'set')
if denied then
    return denied
end
value = redis.call('incrby', KEYS[1], ARGV[3])
record(KEYS[2], 1)
if value > 0 then
    redis.call('publish', ARGV[4], string.format('%.0f', value))
end
return 1
