-- acquire_group: the owner holds all values of a group, or none of them.
-- Effects as RedissonFasterMultiLock's acquire (wire format 2.9), by the server's time; what an owner whose time is
-- over has left is removed, and counts begin anew (W-20).
-- Begins with shared/take_values.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] group   ARGV[1] owner   ARGV[2] lease in ms   ARGV[3] number of values   ARGV[4...] values, hashed
-- Returns nil when the owner holds them; else for how many ms some are still held by others.
-- May be sent twice: a repeat finds the own fields, and leaves the leases at least as long as asked.
-- Everything is read before anything is written, so a key of another type or shape, which is an error, stays as it was.
-- SPDX-License-Identifier: Apache-2.0
local ttl = redis.call('pttl', KEYS[1])
local why, others = check_values(KEYS[1], ARGV[1], ttl, 4, #ARGV)
why = why or missing_permission(KEYS[1], 'hdel', 'pexpire')
if why then
    return why
end
take_values(KEYS[1], ARGV[1], ttl, 4, #ARGV, 1, ARGV[2], others)
return nil
