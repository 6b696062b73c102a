-- readers: the timeout keys of readers, one for each level (wire format 2.5). Only the first 1000 levels have them,
-- because the count in a hash may be any number.
-- Timeout keys of other readers cannot be declared in KEYS. While the slot migrates, a node may refuse to read a key
-- that it does not have. So a script reads all of them before its first write.
-- SPDX-License-Identifier: Apache-2.0
local function timeout_of(base, owner, nth)
    return base .. ':' .. owner .. ':rwlock_timeout:' .. nth
end

-- Returns the remaining ms of a timeout key, -2 if there is none. EXISTS names two keys: for one key that has not
-- arrived, the node that imports the slot would reply that it does not exist, but it refuses two keys of which it does
-- not have one.
local function left_of(name, timeout)
    local ttl = redis.call('pttl', timeout)
    if ttl == -2 then
        redis.call('exists', name, timeout)
    end
    return ttl
end

-- Returns the longest remaining ms of a reader's levels `from` to `count`, -2 if none has a timeout key.
local function longest_of(name, base, owner, from, count)
    local longest = -2
    for nth = from, math.min(tonumber(count) or 0, 1000) do
        longest = math.max(longest, left_of(name, timeout_of(base, owner, nth)))
    end
    return longest
end

-- Returns the longest remaining ms of all readers except `but` and `or_but`, -2 if none lives; and the fields without a
-- timeout key, which are those of dead readers (W-14), and of a writer.
local function longest_of_all(name, base, but, or_but)
    local longest, dead = -2, {}
    local fields = redis.call('hgetall', name)
    for i = 1, #fields, 2 do
        local field, levels = fields[i], fields[i + 1]
        local is_writer = string.sub(field, -6) == ':write'
        local best = field ~= but and field ~= or_but and longest_of(name, base, field, 1, is_writer and 0 or levels)
        longest = math.max(longest, best or -2)
        if best == -2 and tonumber(levels) then
            dead[#dead + 1] = field
        end
    end
    return longest, dead
end
