-- acquire_write: acquires a free read-write lock for writing, with one level.
-- Effects as RReadWriteLock's write lock (wire format 2.6).
-- Begins with shared/read_write_hash.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] field of the writer   ARGV[2] lease in ms   ARGV[3] base of timeout keys
-- Returns nil if the owner holds the lock. Else returns the remaining ms of the lock, -1 if it has no TTL.
-- May be sent twice: a repeat finds the writer's field and raises the TTL to the lease.
-- If readers hold the lock, those without a timeout key are removed while another reader lives (W-14). They stay if the
-- TTL of the lock is more than 1 s above the longest timeout key. Then a client extended the lock without the timeout
-- keys, as Redisson's multi lock does.
-- A hash that is no read-write lock is an error before the first write, as a key of another type is.
-- SPDX-License-Identifier: Apache-2.0
local mode = redis.call('hget', KEYS[1], 'mode')
local ttl = redis.call('pttl', KEYS[1])
if mode ~= 'read' and mode ~= 'write' and ttl ~= -2 then
    return wrong_read_write()
end
if not mode then
    local denied = missing_permission(KEYS[1], 'pexpire')
    if denied then
        return denied
    end
    redis.call('hset', KEYS[1], 'mode', 'write', ARGV[1], 1)
    redis.call('pexpire', KEYS[1], ARGV[2])
    return nil
end
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
    if ttl < tonumber(ARGV[2]) then
        redis.call('pexpire', KEYS[1], ARGV[2])
    end
    return nil
end
if not is_read_write(KEYS[1]) then
    return wrong_read_write()
elseif mode == 'write' then
    return ttl
end
-- Goes on with shared/readers.lua.
local longest, dead = longest_of_all(KEYS[1], ARGV[3])
if longest >= 0 and ttl <= longest + 1000 then
    for _, field in ipairs(dead) do
        redis.call('hdel', KEYS[1], field)
    end
end
return ttl
