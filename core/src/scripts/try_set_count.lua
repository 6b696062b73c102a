-- try_set_count: creates a semaphore or a latch with a count if it does not exist, and publishes a message.
-- Effects as RSemaphore's trySetPermits and RCountDownLatch's trySetCount (wire format 2.10, 2.12).
-- Begins with shared/count.lua.
-- Begins with shared/record.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] record of this operation   ARGV[1] TTL of the record in ms   ARGV[2] number of the operation
-- ARGV[3] count   ARGV[4] channel   ARGV[5] message   ARGV[6] TTL in ms, 0: none
-- Returns 1, or 0 if it exists.
-- May be sent twice: the record repeats the outcome of the first execution.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local recorded = recorded_in(KEYS[2])
if recorded then
    return tonumber(recorded) or 0
end
if value and not is_count(value) then
    return wrong_text()
end
if value then
    record(KEYS[2], 0)
    return 0
end
local denied = missing_permission(KEYS[2], 'set')
if denied then
    return denied
end
if ARGV[6] == '0' then
    redis.call('set', KEYS[1], ARGV[3])
else
    redis.call('set', KEYS[1], ARGV[3], 'px', ARGV[6])
end
record(KEYS[2], 1)
redis.call('publish', ARGV[4], ARGV[5])
return 1
