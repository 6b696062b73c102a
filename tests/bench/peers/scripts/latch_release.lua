-- Releases one level with the effects of Redisson's RLock, its unlock latch included (wire format 2.1, W-3).
-- SPDX-License-Identifier: Apache-2.0
-- KEYS[1] name   KEYS[2] channel   KEYS[3] latch
-- ARGV[1] message   ARGV[2] lease in ms   ARGV[3] owner   ARGV[4] publish command   ARGV[5] the latch's ms
-- Returns 1 when the lock is free, 0 when levels are left, nil when the owner does not hold it.
local recorded = redis.call('get', KEYS[3])
if recorded then
    return tonumber(recorded)
end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
    return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
    redis.call('pexpire', KEYS[1], ARGV[2])
    redis.call('set', KEYS[3], 0, 'px', ARGV[5])
    return 0
end
redis.call('del', KEYS[1])
redis.call(ARGV[4], KEYS[2], ARGV[1])
redis.call('set', KEYS[3], 1, 'px', ARGV[5])
return 1
