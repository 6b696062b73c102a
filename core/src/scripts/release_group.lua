-- release_group: the owner is left with the given number of levels of all values; with none, nothing of it is left in
-- the group, and waiters are told.
-- Message and channel as RedissonFasterMultiLock's release (wire format 2.9).
-- Begins with shared/leave_values.lua.
-- KEYS[1] group   ARGV[1] owner   ARGV[2] levels left   ARGV[3] channel   ARGV[4] number of values   ARGV[5...] values
-- Returns 0 when the owner did not hold them all; else 1, plus the number of subscribers told when they became free.
-- May be sent twice: a repeat finds no field (full release) or the count it left (partial). A lease is never shortened.
-- SPDX-License-Identifier: Apache-2.0
local held, freed = leave_values(KEYS[1], ARGV[1], ARGV[2], 5, #ARGV)
local receivers = freed and redis.call('publish', ARGV[3], '0') or 0
return held and 1 + receivers or 0
