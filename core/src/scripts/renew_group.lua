-- renew_group: as renew, for holds of groups.
-- Begins with shared/held_values.lua.
-- Begins with shared/prolong_group.lua.
-- Begins with shared/allowed.lua.
-- KEYS groups   ARGV owner, lease in ms, number of values, values for each group; a lease of 0 only asks
-- Returns for each group the remaining ms before, of the value that ends first, or -2 if the owner does not hold all
-- values.
-- May be sent twice or late: a lease is never shortened. A key of another type has the reply -2 and does not affect the
-- others.
-- SPDX-License-Identifier: Apache-2.0
local denied = missing_permission(KEYS[1], 'pexpire')
if denied then
    return denied
end

local now = server_time()
local before, at = {}, 1
for entry, group in ipairs(KEYS) do
    local owner, lease, first = ARGV[at], tonumber(ARGV[at + 1]), at + 3
    local last = at + 2 + ARGV[at + 2]
    local ends = held_until(redis.pcall, group, owner, first, last)
    before[entry] = ends and ends - now or -2
    if ends and lease > 0 then
        for i = first, last do
            local field = ARGV[i] .. ':' .. owner .. ':expire_time'
            if tonumber(redis.call('hget', group, field)) < now + lease then
                redis.call('hset', group, field, string.format('%.0f', now + lease))
            end
        end
        prolong_group(group, lease)
    end
    at = last + 1
end
return before
