-- reenter_group: the count of every value is raised to the intended one and their leases are at least as long as asked.
-- Begins with shared/held_values.lua.
-- Begins with shared/prolong_group.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] group   ARGV[1] owner   ARGV[2] count   ARGV[3] lease in ms   ARGV[4] number of values   ARGV[5...] values
-- Returns 1, or 0 when the owner does not hold them all: a re-entry never takes anything.
-- May be sent twice: counts are stated, not added to; neither count nor lease is ever lowered here. It always writes,
-- as WAIT counts what its connection wrote.
-- SPDX-License-Identifier: Apache-2.0
if not held_until(redis.call, KEYS[1], ARGV[1], 5, #ARGV) then
    return 0
end
local now = server_time()
local lease = tonumber(ARGV[3])
local denied = missing_permission(KEYS[1], 'pexpire')
if denied then
    return denied
end
for i = 5, #ARGV do
    local own = ARGV[i] .. ':' .. ARGV[1]
    local count = redis.call('hget', KEYS[1], own .. ':lock_count')
    local higher = (tonumber(count or 0) or 0) < tonumber(ARGV[2])
    redis.call('hset', KEYS[1], own .. ':lock_count', higher and ARGV[2] or count)
    if tonumber(redis.call('hget', KEYS[1], own .. ':expire_time')) < now + lease then
        redis.call('hset', KEYS[1], own .. ':expire_time', string.format('%.0f', now + lease))
    end
end
prolong_group(KEYS[1], ARGV[3])
return 1
