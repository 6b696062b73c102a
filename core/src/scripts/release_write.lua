-- release_write: the writer is left with the given number of levels. With none, the lock is free, or its owner's who
-- goes on reading; both is told to all who wait (W-11).
-- Effects as the release of RReadWriteLock's write lock (wire format 2.6), but a lease is shortened only to that of
-- the reads that go on.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] field of the writer   ARGV[2] levels left   ARGV[3] channel   ARGV[4] base of timeout keys
-- Returns 0 when the owner holds nothing; else 1, plus the number of subscribers told after a full release.
-- May be sent twice: a repeat finds no field (full release) or the count it left (partial).
-- The full release begins with hdel, which a server that is out of memory still carries out.
-- SPDX-License-Identifier: Apache-2.0
local count = redis.call('hget', KEYS[1], ARGV[1])
if not count then
    return 0
end
if ARGV[2] ~= '0' then
    if (tonumber(count) or 0) > tonumber(ARGV[2]) then
        redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
    end
    return 1
end
local denied = missing_permission(KEYS[1], 'del', 'hset', 'pexpire')
if denied then
    return denied
end
redis.call('hdel', KEYS[1], ARGV[1])
local longest = -2
local fields = redis.call('hgetall', KEYS[1])
for i = 1, #fields, 2 do
    for nth = 1, math.min(tonumber(fields[i + 1]) or 0, 1000) do
        local timeout = ARGV[4] .. ':' .. fields[i] .. ':rwlock_timeout:' .. nth
        longest = math.max(longest, redis.call('pttl', timeout))
    end
end
if longest == -2 then
    redis.call('del', KEYS[1])
else
    redis.call('hset', KEYS[1], 'mode', 'read')
    if longest >= 0 then
        redis.call('pexpire', KEYS[1], math.max(longest, 1))
    end
end
return 1 + redis.call('publish', ARGV[3], '1')
