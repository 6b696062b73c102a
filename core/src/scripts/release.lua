-- release: lowers the owner's hold count to the levels left. With 0 left, frees the lock and notifies waiters.
-- Message and channel as RLock's release (wire format 2.1, 1.6).
-- KEYS[1] name   ARGV[1] owner   ARGV[2] levels left   ARGV[3] channel
-- Returns 0 if the owner holds nothing. Else returns 1 plus, if the lock became free, the number of receivers.
-- May be sent twice: a repeat finds no field (full release) or the count it left (partial). A lease is never shortened.
-- The only write of a full release is HDEL, which a server that is out of memory still executes.
-- SPDX-License-Identifier: Apache-2.0
if ARGV[2] == '0' then
    if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
        return 0
    end
    return 1 + redis.call('publish', ARGV[3], '0')
end
-- Goes on with shared/levels.lua.
return lower(KEYS[1], ARGV[1], ARGV[2]) and 1 or 0
