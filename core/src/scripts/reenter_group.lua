-- reenter_group: raises the owner's hold count of every value to the stated one, and the leases to the given one.
-- Begins with shared/held_values.lua.
-- Begins with shared/prolong_group.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] group   ARGV[1] owner   ARGV[2] count   ARGV[3] lease in ms   ARGV[4] number of values   ARGV[5...] values
-- Returns 1, or 0 if the owner does not hold them all: a re-entry never acquires anything.
-- May be sent twice: counts are stated, not added. Neither count nor lease is ever lowered here. The script always
-- writes, because the WAIT behind it covers only what was written on its connection.
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
