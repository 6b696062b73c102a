-- extend_group: sets the owner's lease of every value, also if that is shorter.
-- Begins with shared/held_values.lua.
-- Begins with shared/prolong_group.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] group   ARGV[1] owner   ARGV[2] lease in ms   ARGV[3] number of values   ARGV[4...] values
-- Returns 1, or 0 if the owner does not hold them all.
-- It may shorten the leases of the values, as extend. The TTL of the group, which other owners need, only grows.
-- SPDX-License-Identifier: Apache-2.0
if not held_until(redis.call, KEYS[1], ARGV[1], 4, #ARGV) then
    return 0
end
local now = server_time()
local denied = missing_permission(KEYS[1], 'pexpire')
if denied then
    return denied
end
for i = 4, #ARGV do
    local ends = string.format('%.0f', now + ARGV[2])
    redis.call('hset', KEYS[1], ARGV[i] .. ':' .. ARGV[1] .. ':expire_time', ends)
end
prolong_group(KEYS[1], ARGV[2])
return 1
