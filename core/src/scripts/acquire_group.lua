-- acquire_group: the owner holds all values of a group, or none of them.
-- Effects as RedissonFasterMultiLock's acquire (wire format 2.9), by the server's time; what an owner whose time is
-- over has left is removed, and counts begin anew (W-20).
-- Begins with shared/group.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] group   ARGV[1] owner   ARGV[2] lease in ms   ARGV[3] number of values   ARGV[4...] values, hashed
-- Returns nil when the owner holds them; else for how many ms some are still held by others.
-- May be sent twice: a repeat finds the own fields, and leaves the leases at least as long as asked.
-- Everything is read before anything is written, so a key of another type or shape, which is an error, stays as it was.
-- SPDX-License-Identifier: Apache-2.0
local ttl = redis.call('pttl', KEYS[1])
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lease, last, others, known = tonumber(ARGV[2]), now, {}, ttl == -2
for i = 4, #ARGV do
    local other, ends = owner_of(KEYS[1], ARGV[i])
    if other == false then
        return wrong_group()
    end
    known = known or other
    if other and other ~= ARGV[1] then
        last = math.max(last, ends)
        others[i] = other
    end
end
if not known and is_foreign(KEYS[1]) then
    return wrong_group()
end
if last > now then
    return last - now
end
local denied = missing_permission(KEYS[1], 'hdel', 'pexpire')
if denied then
    return denied
end
for i = 4, #ARGV do
    local own = ARGV[i] .. ':' .. ARGV[1]
    local ends = tonumber(redis.call('hget', KEYS[1], own .. ':expire_time')) or 0
    redis.call('hset', KEYS[1], ARGV[i], ARGV[1])
    if ends < now + lease then
        redis.call('hset', KEYS[1], own .. ':expire_time', string.format('%.0f', now + lease))
    end
    if ends <= now or redis.call('hexists', KEYS[1], own .. ':lock_count') == 0 then
        redis.call('hset', KEYS[1], own .. ':lock_count', 1)
    end
    if others[i] then
        local left = ARGV[i] .. ':' .. others[i]
        redis.call('hdel', KEYS[1], left .. ':expire_time', left .. ':lock_count')
    end
end
if ttl == -2 or (ttl >= 0 and ttl < lease) then
    redis.call('pexpire', KEYS[1], ARGV[2])
end
return nil
