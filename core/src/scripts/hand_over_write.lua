-- hand_over_write: passes the hold of one writer to another. The lock is not free in between, and no message is
-- published.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] from   ARGV[2] to: fields of the writers   ARGV[3] hold count of the new one
-- ARGV[4] lease in ms
-- Returns 1 if the new writer holds the lock, 0 if neither does, 2 if the old one also reads and must downgrade
-- instead. With 0 and 2 nothing is written.
-- May be sent twice: a repeat finds the new writer and writes nothing.
-- The new field is written before the old one is removed, so that a refused write changes nothing.
-- SPDX-License-Identifier: Apache-2.0
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return redis.call('hexists', KEYS[1], ARGV[2])
end
if redis.call('hlen', KEYS[1]) > 2 then
    return 2
end
local denied = missing_permission(KEYS[1], 'hdel', 'pexpire')
if denied then
    return denied
end
redis.call('hset', KEYS[1], ARGV[2], ARGV[3])
redis.call('hdel', KEYS[1], ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[4])
return 1
