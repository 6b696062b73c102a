-- hand_over: one owner's hold becomes another's, without the lock being free in between and without a message.
-- Other processes see another owner in the same hash (wire format, W-1).
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] from   ARGV[2] to   ARGV[3] levels of the new owner   ARGV[4] lease in ms
-- Returns 1 when the new owner holds the lock, 0 when neither did: then nothing is written.
-- May be sent twice: a repeat finds the new owner and touches nothing.
-- The new field is written before the old one goes, so the hash never becomes empty and a refused write changes
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
