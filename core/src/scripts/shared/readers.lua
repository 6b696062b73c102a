-- readers: the timeout keys of the levels of readers (wire format 2.5). Only the first 1000 levels have them, for a
-- number in the hash may be any.
-- SPDX-License-Identifier: Apache-2.0
local function timeout_of(base, owner, nth)
    return base .. ':' .. owner .. ':rwlock_timeout:' .. nth
end

-- The longest remaining ms of a reader's levels, from one on; -2 if none has a timeout key.
local function longest_of(base, owner, from, count)
    local longest = -2
    for nth = from, math.min(tonumber(count) or 0, 1000) do
        longest = math.max(longest, redis.call('pttl', timeout_of(base, owner, nth)))
    end
    return longest
end

-- The same of all who are in the lock, and those of them who are dead: they have none (W-14).
local function longest_of_all(name, base)
    local longest, dead = -2, {}
    local fields = redis.call('hgetall', name)
    for i = 1, #fields, 2 do
        local best = longest_of(base, fields[i], 1, fields[i + 1])
        longest = math.max(longest, best)
        if best == -2 and tonumber(fields[i + 1]) then
            dead[#dead + 1] = fields[i]
        end
    end
    return longest, dead
end
