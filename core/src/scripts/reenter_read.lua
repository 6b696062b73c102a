-- reenter_read: raises a reader's hold count to the stated one, with a timeout key for each new level, and the TTL to
-- the lease.
-- Begins with shared/readers.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] timeout key of the last level   ARGV[1] owner   ARGV[2] count   ARGV[3] lease in ms
-- ARGV[4] base of timeout keys
-- Returns 1, or 0 if the owner does not hold the lock or its lease is over: a re-entry never creates it.
-- May be sent twice: the count is stated, not added. Neither count nor TTL is ever lowered here. The script always
-- writes, because the WAIT behind it covers only what was written on its connection.
-- A timeout key of a level above the count was left by a deleted hash. Its TTL is set to the lease.
-- Only the first 1000 levels have timeout keys, because the count in a hash may be any number. A re-entry above that
-- raises the timeout key of level 1000.
-- SPDX-License-Identifier: Apache-2.0
local held = redis.call('hget', KEYS[1], ARGV[1])
local count = tonumber(held or 0) or 0
if longest_of(KEYS[1], ARGV[4], ARGV[1], 1, count) == -2 then
    return 0
end
local wanted, lease = tonumber(ARGV[2]), tonumber(ARGV[3])
local denied = missing_permission(timeout_of(ARGV[4], ARGV[1], 1), 'set', 'pexpire') or
    missing_permission(KEYS[1], 'pexpire')
if denied then
    return denied
end
redis.call('hset', KEYS[1], ARGV[1], count < wanted and ARGV[2] or held)
for nth = math.min(count + 1, wanted, 1000), math.min(wanted, 1000) do
    local key = timeout_of(ARGV[4], ARGV[1], nth)
    if not redis.call('set', key, '1', 'px', ARGV[3], 'nx') and
        (nth > count or redis.call('pttl', key) < lease) then
        redis.call('pexpire', key, ARGV[3])
    end
end
if redis.call('pttl', KEYS[1]) < lease then
    redis.call('pexpire', KEYS[1], ARGV[3])
end
return 1
