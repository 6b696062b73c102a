-- drain_semaphore: takes all permits of a semaphore. A semaphore in debt is set to 0.
-- Effects as RSemaphore's drainPermits (wire format 2.10), but a TTL is kept (W-16).
-- Begins with shared/count.lua.
-- Begins with shared/record.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] record of this operation   ARGV[1] TTL of the record in ms   ARGV[2] number of the operation
-- Returns the number of permits before, which is below 0 if the semaphore was in debt.
-- May be sent twice: the record repeats the outcome of the first execution. After undo_taken, returns 0.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local recorded = recorded_in(KEYS[2])
if recorded then
    return tonumber(recorded) or 0
end
if value and not is_count(value) then
    return wrong_text()
end
local denied = missing_permission(KEYS[2], 'set')
if denied then
    return denied
end
local taken = value or '0'
if tonumber(taken) ~= 0 then
    redis.call('decrby', KEYS[1], taken)
end
record(KEYS[2], taken)
return tonumber(taken)
