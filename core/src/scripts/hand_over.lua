-- hand_over: passes the hold of one owner to another. The lock is not free in between, and no message is published.
-- Other processes see another owner in the same hash (wire format, W-1).
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] from   ARGV[2] to   ARGV[3] hold count of the new owner   ARGV[4] lease in ms
-- Returns 1 if the new owner holds the lock, 0 if neither does: then nothing is written.
-- May be sent twice: a repeat finds the new owner and writes nothing.
-- The new field is written before the old one is removed, so the hash never becomes empty, and a refused write changes
-- nothing.
-- SPDX-License-Identifier: Apache-2.0
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
    local denied = missing_permission(KEYS[1], 'hdel', 'pexpire')
    if denied then
        return denied
    end
    redis.call('hset', KEYS[1], ARGV[2], ARGV[3])
    redis.call('hdel', KEYS[1], ARGV[1])
    redis.call('pexpire', KEYS[1], ARGV[4])
    return 1
end
return redis.call('hexists', KEYS[1], ARGV[2])
