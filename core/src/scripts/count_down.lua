-- count_down: counts a latch down by one. At 0 it deletes the latch, which opens it, and notifies waiters.
-- Effects as RCountDownLatch's countDown (wire format 2.12). An open latch stays open, and nobody is notified.
-- Begins with shared/count.lua.
-- Begins with shared/record.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] record of this operation   ARGV[1] TTL of the record in ms   ARGV[2] number of the operation
-- ARGV[3] channel
-- Returns 1, or 0 if the latch has no key.
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
if not value then
    record(KEYS[2], 0)
    return 0
end
local denied = missing_permission(KEYS[1], 'del') or missing_permission(KEYS[2], 'set')
if denied then
    return denied
end
local left = redis.call('decr', KEYS[1])
record(KEYS[2], 1)
if left <= 0 then
    redis.call('del', KEYS[1])
end
if left == 0 then
    redis.call('publish', ARGV[3], '0')
end
return 1
