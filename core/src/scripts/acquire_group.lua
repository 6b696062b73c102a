-- acquire_group: acquires all the values of a group for the owner, or none of them.
-- Effects as RedissonFasterMultiLock's acquire (wire format 2.9), by the server's time. The fields of an owner whose
-- lease is over are removed, and counts begin anew (W-20).
-- Begins with shared/take_values.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] group   ARGV[1] owner   ARGV[2] lease in ms   ARGV[3] number of values   ARGV[4...] values, hashed
-- Returns nil if the owner holds them all. Else returns the ms until the last value held by others is free.
-- May be sent twice: a repeat finds the owner's fields and raises the leases to the given one.
-- All fields are read before the first write, so a key of another type, or a hash that is no group, is an error and
-- stays unchanged.
-- SPDX-License-Identifier: Apache-2.0
local ttl = redis.call('pttl', KEYS[1])
local why, others = check_values(KEYS[1], ARGV[1], ttl, 4, #ARGV)
why = why or missing_permission(KEYS[1], 'hdel', 'pexpire')
if why then
    return why
end
take_values(KEYS[1], ARGV[1], ttl, 4, #ARGV, 1, ARGV[2], others)
return nil
