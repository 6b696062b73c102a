-- leave_read: how a reader leaves a lock (wire format 2.5), but no lease of others becomes shorter (W-12): not the
-- writer's who is also this reader, and not one that was extended without its timeout keys.
-- Readers without a timeout key are dead (W-14). They are struck out while the lock's lease is at most 1 s above the
-- longest timeout key, the leaving reader's included; a lock that was extended alone, as Redisson's multi lock does, is
-- not. Readers are looked through from the youngest, with whose time-out the lock's lease mostly ends, to the first
-- that has about as long; of the others only the oldest two are, where the dead gather.
-- All is looked at before the first write. A full release begins with hdel or del, which a server that is out of memory
-- still carries out.
-- Begins with shared/readers.lua.
-- SPDX-License-Identifier: Apache-2.0
local NEAR = 100 -- ms that the lock may outlast its readers, so that few of many have to be looked at

-- Those beside a reader who leaves a lock that lasts for `ttl` ms: how long those last who were inspected, -2 if nobody
-- lives; and those who are dead.
local function inspect_others(name, base, owner, ttl)
    local longest, dead, fields = -2, {}, redis.call('hkeys', name)
    for i, field in ipairs(fields) do
        if field == owner then
            table.remove(fields, i)
            break
        end
    end
    local function inspect(field)
        local levels = redis.call('hget', name, field)
        local best = longest_of(name, base, field, 1, levels)
        longest = math.max(longest, best)
        if best == -2 and tonumber(levels) then
            dead[#dead + 1] = field
        end
    end
    for i = #fields, 1, -1 do
        inspect(fields[i])
        if longest ~= -2 and longest >= ttl - NEAR then
            for oldest = 1, math.min(i - 1, 2) do
                inspect(fields[oldest])
            end
            break
        end
    end
    return longest, dead
end

-- The lock ends with the readers who are left; true when nobody is, and it is free.
local function end_with_readers(name, owner, ttl, longest, dead)
    if longest == -2 then
        redis.call('del', name)
        return true
    end
    redis.call('hdel', name, owner)
    for _, field in ipairs(dead) do
        redis.call('hdel', name, field)
    end
    if longest < ttl - NEAR then
        redis.call('pexpire', name, math.max(longest, 1))
    end
    return false
end

-- A reader of `count` levels is left with fewer; true when the lock is free.
local function leave_read(name, base, owner, count, left)
    local mine = longest_of(name, base, owner, left + 1, count)
    local ttl = redis.call('pttl', name)
    local free = false
    if left > 0 then
        local below = timeout_of(base, owner, left)
        local longer = mine > left_of(name, below) and mine > 0
        redis.call('hset', name, owner, left)
        if longer then
            redis.call('set', below, '1', 'px', mine)
        end
    elseif redis.call('hget', name, 'mode') == 'write' or (ttl > mine + 1000 and redis.call('hlen', name) > 2) then
        redis.call('hdel', name, owner)
    else
        free = end_with_readers(name, owner, ttl, inspect_others(name, base, owner, ttl))
    end
    for nth = left + 1, math.min(count, 1000) do
        redis.call('del', timeout_of(base, owner, nth))
    end
    return free
end
