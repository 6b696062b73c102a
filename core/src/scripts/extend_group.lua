-- extend_group: the owner's lease of every value ends the given time from now, sooner or later than before.
-- Begins with shared/held_values.lua.
-- Begins with shared/prolong_group.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] group   ARGV[1] owner   ARGV[2] lease in ms   ARGV[3] number of values   ARGV[4...] values
-- Returns 1, or 0 when the owner does not hold them all.
-- As extend, the only one that may shorten a lease; the group's own, which others need, only grows.
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
