-- Releases one level of a reentrant lock, as a hand-written client would; no unlock latch.
-- SPDX-License-Identifier: Apache-2.0
-- KEYS[1] name   KEYS[2] channel   ARGV[1] message   ARGV[2] lease in ms   ARGV[3] owner
-- Returns 1 when the lock is free, 0 when levels are left, nil when the owner does not hold it.
local count = redis.call('hget', KEYS[1], ARGV[3])
if not count then
    return nil
end
if tonumber(count) > 1 then
    redis.call('hincrby', KEYS[1], ARGV[3], -1)
    redis.call('pexpire', KEYS[1], ARGV[2])
    return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], ARGV[1])
return 1
