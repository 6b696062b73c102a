-- release_read: the reader is left with the given number of levels. With none, the lock ends with the other readers'
-- leases; when nobody is left, it is free and waiters are told.
-- Effects as the release of RReadWriteLock's read lock (wire format 2.5), but no lease of others becomes shorter
-- (W-12): not the writer's who is also this reader, and not one that was extended without its timeout keys.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] owner   ARGV[2] levels left   ARGV[3] channel   ARGV[4] base of timeout keys
-- Returns 0 when the owner holds nothing; else 1, plus the number of subscribers told when the lock became free.
-- May be sent twice: a repeat finds no field (full release) or the count it left (partial).
-- Readers without a timeout key are dead (W-14). They are struck out while the lock's lease is at most 1 s above the
-- longest timeout key, this reader's included; a lock that was extended alone, as Redisson's multi lock does, is not.
-- Readers are looked through from the youngest, with whose time-out the lock's lease mostly ends, to the first that has
-- about as long; of the others only the oldest two are, where the dead gather.
-- The full release begins with hdel, which a server that is out of memory still carries out.
-- SPDX-License-Identifier: Apache-2.0
local NEAR = 100 -- ms that the lock may outlast its readers, so that few of many have to be looked at

local function timeout_of(owner, nth)
    return ARGV[4] .. ':' .. owner .. ':rwlock_timeout:' .. nth
end

-- The longest remaining ms of a reader's levels, from one on; -2 if none has a timeout key.
local function longest_of(owner, from, count)
    local longest = -2
    for nth = from, math.min(tonumber(count) or 0, 1000) do
        longest = math.max(longest, redis.call('pttl', timeout_of(owner, nth)))
    end
    return longest
end

local count = redis.call('hget', KEYS[1], ARGV[1])
if not count then
    return 0
end
local left = tonumber(ARGV[2])
local mine = longest_of(ARGV[1], left + 1, count)
if left >= tonumber(count) then
    return 1
end
local denied = missing_permission(timeout_of(ARGV[1], 1), 'set', 'del') or
    missing_permission(KEYS[1], 'hdel', 'del', 'pexpire')
if denied then
    return denied
end
if left > 0 then
    redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
    if mine > redis.call('pttl', timeout_of(ARGV[1], left)) and mine > 0 then
        redis.call('set', timeout_of(ARGV[1], left), '1', 'px', mine)
    end
else
    redis.call('hdel', KEYS[1], ARGV[1])
end
for nth = left + 1, math.min(tonumber(count), 1000) do
    redis.call('del', timeout_of(ARGV[1], nth))
end
local ttl = redis.call('pttl', KEYS[1])
if left > 0 or redis.call('hget', KEYS[1], 'mode') == 'write' or
    (ttl > mine + 1000 and redis.call('hlen', KEYS[1]) ~= 1) then
    return 1
end

-- The longest timeout key of a reader; one without any is struck out.
local function check_reader(field)
    local levels = redis.call('hget', KEYS[1], field)
    local longest = longest_of(field, 1, levels)
    if longest == -2 and tonumber(levels) then
        redis.call('hdel', KEYS[1], field)
    end
    return longest
end

local longest, fields = -2, redis.call('hkeys', KEYS[1])
for i = #fields, 1, -1 do
    longest = math.max(longest, check_reader(fields[i]))
    if longest ~= -2 and longest >= ttl - NEAR then
        for oldest = 1, math.min(i - 1, 2) do
            check_reader(fields[oldest])
        end
        return 1
    end
end
if longest == -2 then
    redis.call('del', KEYS[1])
    return 1 + redis.call('publish', ARGV[3], '0')
end
redis.call('pexpire', KEYS[1], math.max(longest, 1))
return 1
