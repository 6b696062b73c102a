-- release: the owner is left with the given number of levels; with none, the lock is free and waiters are told.
-- Message and channel as RLock's release (wire format 2.1, 1.6).
-- KEYS[1] name   ARGV[1] owner   ARGV[2] levels left   ARGV[3] channel
-- Returns 0 when the owner holds nothing; else 1, plus the number of subscribers told when the lock became free.
-- May be sent twice: a repeat finds no field (full release) or the count it left (partial). A lease is never shortened.
-- The full release writes with hdel alone, which a server that is out of memory still carries out.
-- SPDX-License-Identifier: Apache-2.0
if ARGV[2] == '0' then
    if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
        return 0
    end
    return 1 + redis.call('publish', ARGV[3], '0')
end
-- Goes on with shared/levels.lua.
return lower(KEYS[1], ARGV[1], ARGV[2]) and 1 or 0
