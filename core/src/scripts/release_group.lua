-- release_group: the owner is left with the given number of levels of all values; with none, nothing of it is left in
-- the group, and waiters are told.
-- Message and channel as RedissonFasterMultiLock's release (wire format 2.9); never a part of the values: where some
-- are another's by now the hold is lost, and what is left of it is removed all the same, so that nobody waits for it
-- (W-20).
-- KEYS[1] group   ARGV[1] owner   ARGV[2] levels left   ARGV[3] channel   ARGV[4] number of values   ARGV[5...] values
-- Returns 0 when the owner did not hold them all; else 1, plus the number of subscribers told when they became free.
-- May be sent twice: a repeat finds no field (full release) or the count it left (partial). A lease is never shortened.
-- The full release writes with hdel alone, which a server that is out of memory still carries out.
-- SPDX-License-Identifier: Apache-2.0
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- Whether the owner holds every value.
local function holds_all(owner)
    for i = 5, #ARGV do
        local ends = redis.call('hget', KEYS[1], ARGV[i] .. ':' .. owner .. ':expire_time')
        if redis.call('hget', KEYS[1], ARGV[i]) ~= owner or (tonumber(ends) or 0) <= now then
            return false
        end
    end
    return true
end
local held = holds_all(ARGV[1])
if ARGV[2] == '0' then
    local removed = 0
    for i = 5, #ARGV do
        local own = ARGV[i] .. ':' .. ARGV[1]
        if redis.call('hget', KEYS[1], ARGV[i]) == ARGV[1] then
            removed = removed + redis.call('hdel', KEYS[1], ARGV[i])
        end
        redis.call('hdel', KEYS[1], own .. ':expire_time', own .. ':lock_count')
    end
    local receivers = removed > 0 and redis.call('publish', ARGV[3], '0') or 0
    return held and 1 + receivers or 0
end
if not held then
    return 0
end
for i = 5, #ARGV do
    local count = ARGV[i] .. ':' .. ARGV[1] .. ':lock_count'
    if (tonumber(redis.call('hget', KEYS[1], count) or 0) or 0) > tonumber(ARGV[2]) then
        redis.call('hset', KEYS[1], count, ARGV[2])
    end
end
return 1
