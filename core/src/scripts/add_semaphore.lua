-- add_semaphore: a semaphore has so many permits more, or fewer, also fewer than none.
-- Effects as RSemaphore's addPermits (wire format 2.10), but a TTL is kept, and nobody is told of permits that nobody
-- can have (W-16).
-- Begins with shared/count.lua.
-- KEYS[1] name   KEYS[2] record of this operation   ARGV[1] permits   ARGV[2] life of the record in ms
-- ARGV[3] channel
-- Returns 1. May be sent twice: the record says that it was done.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local recorded = redis.call('get', KEYS[2])
if recorded then
    if redis.call('pttl', KEYS[2]) < tonumber(ARGV[2]) then
        redis.call('pexpire', KEYS[2], ARGV[2])
    end
    return 1
end
if value and not is_count(value) then
    return refuse_text()
end
value = redis.call('incrby', KEYS[1], ARGV[1])
redis.call('set', KEYS[2], '1', 'px', ARGV[2])
if value > 0 then
    redis.call('publish', ARGV[3], string.format('%.0f', value))
end
return 1
