-- acquire_read: acquires a read lock for the owner, with one level, beside other readers or the owner's own write lock.
-- Effects as RReadWriteLock's read lock (wire format 2.5).
-- Begins with shared/read_write_hash.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] timeout key of the first level   ARGV[1] owner   ARGV[2] lease in ms
-- ARGV[3] the field of the write lock that the same owner holds, or empty
-- Returns nil if the owner holds the lock. Else returns the writer's remaining ms, -1 if the lock has no TTL.
-- May be sent twice: a repeat finds the owner's field and raises the TTLs to the lease. If the timeout key exists
-- without that field, a deleted hash left it. Its TTL is then set to the lease, as it may not outlast the lock.
-- A hash that is no read-write lock is an error before the first write, as a key of another type is.
-- SPDX-License-Identifier: Apache-2.0
local mode = redis.call('hget', KEYS[1], 'mode')
local ttl, lease = redis.call('pttl', KEYS[1]), tonumber(ARGV[2])
if mode ~= 'read' and mode ~= 'write' and ttl ~= -2 then
    return wrong_read_write()
end
if mode == 'read' or mode and redis.call('hexists', KEYS[1], ARGV[1]) == 0 and
    redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
    if not is_read_write(KEYS[1]) then
        return wrong_read_write()
    elseif mode == 'write' then
        return ttl
    end
end
local timeout = KEYS[2]
local denied = missing_permission(timeout, 'pexpire') or missing_permission(KEYS[1], 'hsetnx', 'hset', 'pexpire')
if denied then
    return denied
end
if not redis.call('set', timeout, '1', 'px', ARGV[2], 'nx') then
    redis.call('get', timeout) -- an error if it is no string
    if redis.call('pttl', timeout) < lease or redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
        redis.call('pexpire', timeout, ARGV[2])
    end
end
redis.call('hsetnx', KEYS[1], ARGV[1], 1)
if not mode then
    redis.call('hset', KEYS[1], 'mode', 'read')
end
if ttl < lease then
    redis.call('pexpire', KEYS[1], ARGV[2])
end
return nil
