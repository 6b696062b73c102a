-- release_semaphore: adds permits to a semaphore, and notifies waiters.
-- Effects as RSemaphore's release and releaseIfExists (wire format 2.10). A TTL is kept.
-- Begins with shared/count.lua.
-- Begins with shared/record.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] record of this operation   ARGV[1] TTL of the record in ms   ARGV[2] number of the operation
-- ARGV[3] permits   ARGV[4] channel   ARGV[5] 1: only if the semaphore exists
-- Returns 1. Returns 0 if the semaphore had to exist and did not, -1 if there would be too many permits: then the
-- semaphore stays unchanged.
-- May be sent twice: the record repeats the outcome of the first execution.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local recorded = recorded_in(KEYS[2])
if recorded then
    return tonumber(recorded) or 0
end
if not value and ARGV[5] == '1' then
    record(KEYS[2], 0)
    return 0
end
if value and not is_count(value) then
    return wrong_text()
end
if (tonumber(value) or 0) + ARGV[3] > PERMITS_MAX then
    record(KEYS[2], -1)
    return -1
end
local denied = missing_permission(KEYS[2], 'set')
if denied then
    return denied
end
value = redis.call('incrby', KEYS[1], ARGV[3])
record(KEYS[2], 1)
redis.call('publish', ARGV[4], string.format('%.0f', value))
return 1
