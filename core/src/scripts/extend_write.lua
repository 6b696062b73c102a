-- extend_write: sets a writer's lease, also if that is shorter, but not below the lease of its own read holds. May move
-- the hold to a new owner id.
-- Begins with shared/readers.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] from   ARGV[2] to: fields of the same writer   ARGV[3] hold count after a move
-- ARGV[4] lease in ms   ARGV[5] base of timeout keys
-- Returns 1, or 0 if the owner does not hold the lock.
-- Because it may shorten the lease, the caller sends it only while no other command of the hold is unanswered.
-- A move may be sent twice: a repeat finds the new id.
-- SPDX-License-Identifier: Apache-2.0
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return redis.call('hexists', KEYS[1], ARGV[2])
end
local denied = missing_permission(KEYS[1], 'hdel', 'pexpire')
if denied then
    return denied
end
local longest = longest_of_all(KEYS[1], ARGV[5]) -- before anything is written
if ARGV[1] ~= ARGV[2] then
    redis.call('hset', KEYS[1], ARGV[2], ARGV[3])
    redis.call('hdel', KEYS[1], ARGV[1])
end
redis.call('pexpire', KEYS[1], math.max(tonumber(ARGV[4]), longest))
return 1
