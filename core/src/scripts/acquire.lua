-- acquire: acquires a free mutex for the owner, with one level.
-- Effects as RLock's acquire (wire format 2.1).
-- Begins with shared/one_holder.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] owner   ARGV[2] lease in ms
-- Returns nil if the owner holds the lock. Else returns the holder's remaining ms, -1 if the lock has no TTL.
-- May be sent twice: a repeat finds the owner's field and raises the TTL to the lease.
-- A key of another type, or a hash that is no such lock, is an error and stays unchanged.
-- SPDX-License-Identifier: Apache-2.0
local ttl = redis.call('pttl', KEYS[1])
if ttl == -2 then
    local denied = missing_permission(KEYS[1], 'pexpire')
    if denied then
        return denied
    end
    redis.call('hset', KEYS[1], ARGV[1], 1)
    redis.call('pexpire', KEYS[1], ARGV[2])
    return nil
end
local holder = holder_of(KEYS[1], ARGV[1])
if holder == ARGV[1] then
    if ttl < tonumber(ARGV[2]) then
        redis.call('pexpire', KEYS[1], ARGV[2])
    end
    return nil
end
return holder and ttl or wrong_hash()
