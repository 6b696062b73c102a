-- release_group: lowers the owner's hold count of all values to the levels left. With 0 left, removes the owner's
-- fields of these values and notifies waiters.
-- Message and channel as RedissonFasterMultiLock's release (wire format 2.9).
-- Begins with shared/leave_values.lua.
-- KEYS[1] group   ARGV[1] owner   ARGV[2] levels left   ARGV[3] channel   ARGV[4] number of values   ARGV[5...] values
-- Returns 0 if the owner did not hold them all. Else returns 1 plus, if a value became free, the number of receivers.
-- May be sent twice: a repeat finds no field (full release) or the count it left (partial). A lease is never shortened.
-- SPDX-License-Identifier: Apache-2.0
local held, freed = leave_values(KEYS[1], ARGV[1], ARGV[2], 5, #ARGV)
local receivers = freed and redis.call('publish', ARGV[3], '0') or 0
return held and 1 + receivers or 0
