-- add_semaphore: a semaphore has so many permits more, or fewer, also fewer than none.
-- Effects as RSemaphore's addPermits (wire format 2.10), but a TTL is kept, and nobody is told of permits that nobody
-- can have (W-16).
-- Begins with shared/count.lua.
-- Begins with shared/record.lua.
-- Begins with shared/permits.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] record of this operation   KEYS[3] leases of a permit semaphore, or none
-- ARGV[1] life of the record in ms   ARGV[2] number of the operation   ARGV[3] permits   ARGV[4] channel
-- Returns 1, or -1 when there would be too many, those that are taken included: then nothing is changed.
-- May be sent twice: the record repeats what the first time came of it.
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
