-- reenter: raises the owner's hold count to the stated one, and the TTL to the lease.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] owner   ARGV[2] count   ARGV[3] lease in ms
-- Returns 1, or 0 if the owner does not hold the lock: a re-entry never creates it.
-- May be sent twice: the count is stated, not added. Neither count nor TTL is ever lowered here. The script always
-- writes, because the WAIT behind it covers only what was written on its connection.
-- SPDX-License-Identifier: Apache-2.0
local count = redis.call('hget', KEYS[1], ARGV[1])
if not count then
    return 0
end
local denied = missing_permission(KEYS[1], 'pexpire')
if denied then
    return denied
end
redis.call('hset', KEYS[1], ARGV[1], (tonumber(count) or 0) < tonumber(ARGV[2]) and ARGV[2] or count)
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[3]) then
    redis.call('pexpire', KEYS[1], ARGV[3])
end
return 1
