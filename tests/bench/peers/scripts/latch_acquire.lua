-- Acquires a lock with the effects of Redisson's RLock (wire format 2.1).
-- SPDX-License-Identifier: Apache-2.0
-- KEYS[1] name   ARGV[1] lease in ms   ARGV[2] owner
-- Returns nil when acquired, else the holder's remaining ms.
local free = redis.call('exists', KEYS[1]) == 0
if free or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
    redis.call('hincrby', KEYS[1], ARGV[2], 1)
    redis.call('pexpire', KEYS[1], ARGV[1])
    return nil
end
return redis.call('pttl', KEYS[1])
