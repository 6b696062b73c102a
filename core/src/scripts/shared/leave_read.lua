-- leave_read: how a reader releases a lock (wire format 2.5), except that no lease of others becomes shorter (W-12):
-- neither that of a writer who is also this reader, nor one that was extended without the timeout keys.
-- Readers without a timeout key are dead (W-14). They are removed if the TTL of the lock is at most 1 s above the
-- longest timeout key of the leaving reader. Otherwise a client extended the lock alone, as Redisson's multi lock does.
-- Readers are checked from the youngest, as the lock mostly ends with its timeout key, to the first that ends at most
-- NEAR ms before the lock. Of the others only the oldest two are checked, because dead readers gather there.
-- All keys are read before the first write. A full release begins with HDEL or DEL, which a server that is out of
-- memory still executes.
-- Begins with shared/readers.lua.
-- SPDX-License-Identifier: Apache-2.0
local NEAR = 100 -- ms that the lock may outlast its readers, so that few of many readers are checked

-- Checks the other readers when a reader leaves a lock that has `ttl` ms left. Returns the longest remaining ms of
-- those that were checked, -2 if none lives; and the dead ones.
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

-- Lets the lock end with the remaining readers. Returns true if none remains, and the lock is free.
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

-- Lowers the levels of a reader from `count` to `left`. Returns true if the lock became free.
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
