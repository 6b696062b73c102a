-- Acquires a reentrant lock in the format of a hash of owners, as a hand-written client would.
-- SPDX-License-Identifier: Apache-2.0
-- KEYS[1] name   ARGV[1] lease in ms   ARGV[2] owner
-- Returns nil when acquired, else the holder's remaining ms.
if redis.call('exists', KEYS[1]) == 0 then
    redis.call('hset', KEYS[1], ARGV[2], 1)
elseif redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
    redis.call('hincrby', KEYS[1], ARGV[2], 1)
else
    return redis.call('pttl', KEYS[1])
end
redis.call('pexpire', KEYS[1], ARGV[1])
return nil
