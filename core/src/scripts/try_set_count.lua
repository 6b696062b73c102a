-- try_set_count: a semaphore or a latch that does not exist begins with so many, and listeners are told.
-- Effects as RSemaphore's trySetPermits and RCountDownLatch's trySetCount (wire format 2.10, 2.12).
-- Begins with shared/count.lua.
-- KEYS[1] name   KEYS[2] record of this operation   ARGV[1] count   ARGV[2] life of the record in ms
-- ARGV[3] channel   ARGV[4] message   ARGV[5] TTL in ms, 0: none
-- Returns 1, or 0 when it exists.
-- May be sent twice: the record repeats what the first time came of it.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local recorded = redis.call('get', KEYS[2])
if recorded then
    if redis.call('pttl', KEYS[2]) < tonumber(ARGV[2]) then
        redis.call('pexpire', KEYS[2], ARGV[2])
    end
    return tonumber(recorded) or 0
end
if value and not is_count(value) then
    return refuse_text()
end
if value then
    redis.call('set', KEYS[2], '0', 'px', ARGV[2])
    return 0
end
if ARGV[5] == '0' then
    redis.call('set', KEYS[1], ARGV[1])
else
    redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[5])
end
redis.call('set', KEYS[2], '1', 'px', ARGV[2])
redis.call('publish', ARGV[3], ARGV[4])
return 1
