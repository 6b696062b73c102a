-- readers: the timeout keys of the levels of readers (wire format 2.5). Only the first 1000 levels have them, for a
-- number in the hash may be any.
-- Those of other readers cannot be declared. While their slot migrates a server refuses to look at one that it has not,
-- with an error; a script looks at all of them before it writes.
-- SPDX-License-Identifier: Apache-2.0
local function timeout_of(base, owner, nth)
    return base .. ':' .. owner .. ':rwlock_timeout:' .. nth
end

-- The remaining ms of a timeout key; -2 if there is none. The node that imports a slot takes a key that has not arrived
-- for one that does not exist, but not of two keys.
local function left_of(name, timeout)
    local ttl = redis.call('pttl', timeout)
    if ttl == -2 then
        redis.call('exists', name, timeout)
    end
    return ttl
end

-- The longest remaining ms of a reader's levels, from one on; -2 if none has a timeout key.
local function longest_of(name, base, owner, from, count)
    local longest = -2
    for nth = from, math.min(tonumber(count) or 0, 1000) do
        longest = math.max(longest, left_of(name, timeout_of(base, owner, nth)))
    end
    return longest
end

-- The same of all who are in the lock, but for two owners, and those who are dead: they have none (W-14). A writer's
-- field has no levels with timeout keys.
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
