-- extend_write: a writer's lease ends the given time from now, sooner or later than before, but not before its own
-- reads do; the hold may move to a new owner id at that.
-- Begins with shared/readers.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] from   ARGV[2] to: fields of the same writer   ARGV[3] levels when it moves
-- ARGV[4] lease in ms   ARGV[5] base of timeout keys
-- Returns 1, or 0 when the owner does not hold the lock.
-- The only script that may shorten a writer's lease; the caller sends it when nothing else of this hold is under way.
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
