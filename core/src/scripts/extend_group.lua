-- extend_group: the owner's lease of every value ends the given time from now, sooner or later than before.
-- Begins with shared/allowed.lua.
-- KEYS[1] group   ARGV[1] owner   ARGV[2] lease in ms   ARGV[3] number of values   ARGV[4...] values
-- Returns 1, or 0 when the owner does not hold them all.
-- As extend, the only one that may shorten a lease; the group's own, which others need, only grows.
-- SPDX-License-Identifier: Apache-2.0
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- Whether the owner holds every value.
local function holds_all(owner)
    for i = 4, #ARGV do
        local ends = redis.call('hget', KEYS[1], ARGV[i] .. ':' .. owner .. ':expire_time')
        if redis.call('hget', KEYS[1], ARGV[i]) ~= owner or (tonumber(ends) or 0) <= now then
            return false
        end
    end
    return true
end
if not holds_all(ARGV[1]) then
    return 0
end
local denied = missing_permission(KEYS[1], 'pexpire')
if denied then
    return denied
end
for i = 4, #ARGV do
    local ends = string.format('%.0f', now + ARGV[2])
    redis.call('hset', KEYS[1], ARGV[i] .. ':' .. ARGV[1] .. ':expire_time', ends)
end
local ttl = redis.call('pttl', KEYS[1])
if ttl >= 0 and ttl < tonumber(ARGV[2]) then
    redis.call('pexpire', KEYS[1], ARGV[2])
end
return 1
