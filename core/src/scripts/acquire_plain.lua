-- acquire_plain: acquires a free plain lock for the owner. It is a string with the owner as its value, as SET NX PX
-- writes it.
-- KEYS[1] key   ARGV[1] owner   ARGV[2] lease in ms
-- Returns nil if the owner holds the lock. Else returns the ms after which to ask again if no message came: the
-- remaining ms, -1 if the lock has no TTL; at most 100 if the holder is no redlatch client and so publishes no release.
-- May be sent twice: a repeat finds the owner as the value and raises the TTL to the lease.
-- The first command is GET, so a key of another type is an error and stays unchanged.
-- SPDX-License-Identifier: Apache-2.0
local holder = redis.call('get', KEYS[1])
if not holder then
    redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
    return nil
end
local ttl = redis.call('pttl', KEYS[1])
if holder == ARGV[1] then
    if ttl < tonumber(ARGV[2]) then
        redis.call('pexpire', KEYS[1], ARGV[2])
    end
    return nil
end
local tells = string.find(holder, '^%x+%-%x+%-8%x+%-%x+%-%x+:%d+$')
if not tells and (ttl < 0 or ttl > 100) then
    return 100
end
return ttl
