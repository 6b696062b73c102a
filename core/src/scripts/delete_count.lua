-- delete_count: deletes a semaphore or a latch and publishes a message, as RCountDownLatch's delete does (wire format
-- 2.12). Waiters of a latch then find it open. Waiters of a semaphore go on waiting.
-- Begins with shared/count.lua.
-- KEYS[1] name   ARGV[1] channel   ARGV[2] message
-- Returns 1 if there was one, else 0. A key of another type, or one that holds no number, is an error.
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
