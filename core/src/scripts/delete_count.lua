-- delete_count: there is no semaphore, or no latch, any more, and listeners are told as RCountDownLatch's delete does
-- (wire format 2.12): those of a latch may pass, those of a semaphore that wait for permits go on waiting.
-- Begins with shared/count.lua.
-- KEYS[1] name   ARGV[1] channel   ARGV[2] message
-- Returns 1 when there was one, else 0. A key of another type, or one that holds no number, is an error.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
if value and not is_count(value) then
    return wrong_text()
end
if redis.call('del', KEYS[1]) == 0 then
    return 0
end
redis.call('publish', ARGV[1], ARGV[2])
return 1
