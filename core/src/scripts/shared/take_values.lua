-- take_values: how an owner takes values of a group (wire format 2.9), ARGV[first] to ARGV[last]. The fields of an
-- owner whose lease is over are removed, and counts begin anew (W-20).
-- Begins with shared/clock.lua.
-- Begins with shared/group.lua.
-- SPDX-License-Identifier: Apache-2.0
-- Returns the ms until the last value held by others is free, nil if others hold none, or an error reply. Then returns
-- the other owners by index of ARGV; if others hold none, the leases of these are over.
local function check_values(group, owner, ttl, first, last)
    local now = server_time()
    local longest, others, known = now, {}, ttl == -2
    for i = first, last do
        local other, ends = owner_of(group, ARGV[i])
        if other == false then
            return wrong_group()
        elseif other and other ~= owner then
            longest = math.max(longest, ends)
            others[i] = other
        end
        known = known or other
    end
    if not known and is_foreign(group) then
        return wrong_group()
    end
    return longest > now and longest - now or nil, others
end

-- Gives the owner a hold count of at least `count` for each value, and a lease of at least `lease` ms. While a lease
-- lasts, neither is ever lowered.
local function take_values(group, owner, ttl, first, last, count, lease, others)
    local now = server_time()
    for i = first, last do
        local own = ARGV[i] .. ':' .. owner
        local ends = tonumber(redis.call('hget', group, own .. ':expire_time')) or 0
        local had = ends > now and tonumber(redis.call('hget', group, own .. ':lock_count')) or 0
        redis.call('hset', group, ARGV[i], owner)
        if ends < now + lease then
            redis.call('hset', group, own .. ':expire_time', string.format('%.0f', now + lease))
        end
        if had < tonumber(count) then
            redis.call('hset', group, own .. ':lock_count', count)
        end
        if others[i] then
            local left = ARGV[i] .. ':' .. others[i]
            redis.call('hdel', group, left .. ':expire_time', left .. ':lock_count')
        end
    end
    if ttl ~= -1 and ttl < tonumber(lease) then
        redis.call('pexpire', group, lease)
    end
end
