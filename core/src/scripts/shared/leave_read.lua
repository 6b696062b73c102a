-- leave_read: how a reader leaves a lock (wire format 2.5), but no lease of others becomes shorter (W-12): not the
-- writer's who is also this reader, and not one that was extended without its timeout keys.
-- Readers without a timeout key are dead (W-14). They are struck out while the lock's lease is at most 1 s above the
-- longest timeout key, the leaving reader's included; a lock that was extended alone, as Redisson's multi lock does, is
-- not. Readers are looked through from the youngest, with whose time-out the lock's lease mostly ends, to the first
-- that has about as long; of the others only the oldest two are, where the dead gather.
-- A full release begins with hdel, which a server that is out of memory still carries out.
-- Begins with shared/readers.lua.
-- SPDX-License-Identifier: Apache-2.0
local NEAR = 100 -- ms that the lock may outlast its readers, so that few of many have to be looked at

-- The longest timeout key of a reader; one without any is struck out.
local function check_reader(name, base, field)
    local levels = redis.call('hget', name, field)
    local longest = longest_of(base, field, 1, levels)
    if longest == -2 and tonumber(levels) then
        redis.call('hdel', name, field)
    end
    return longest
end

-- The lock ends with the readers who are left; true when nobody is, and it is free.
local function end_with_readers(name, base, ttl)
    local longest, fields = -2, redis.call('hkeys', name)
    for i = #fields, 1, -1 do
        longest = math.max(longest, check_reader(name, base, fields[i]))
        if longest ~= -2 and longest >= ttl - NEAR then
            for oldest = 1, math.min(i - 1, 2) do
                check_reader(name, base, fields[oldest])
            end
            return false
        end
    end
    if longest == -2 then
        redis.call('del', name)
        return true
    end
    redis.call('pexpire', name, math.max(longest, 1))
    return false
end

-- A reader of `count` levels is left with fewer; true when the lock is free.
local function leave_read(name, base, owner, count, left)
    local mine = longest_of(base, owner, left + 1, count)
    if left > 0 then
        redis.call('hset', name, owner, left)
        if mine > redis.call('pttl', timeout_of(base, owner, left)) and mine > 0 then
            redis.call('set', timeout_of(base, owner, left), '1', 'px', mine)
        end
    else
        redis.call('hdel', name, owner)
    end
    for nth = left + 1, math.min(count, 1000) do
        redis.call('del', timeout_of(base, owner, nth))
    end
    local ttl = redis.call('pttl', name)
    if left > 0 or redis.call('hget', name, 'mode') == 'write' or
        (ttl > mine + 1000 and redis.call('hlen', name) ~= 1) then
        return false
    end
    return end_with_readers(name, base, ttl)
end
