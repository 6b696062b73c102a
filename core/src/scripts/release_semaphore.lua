-- release_semaphore: permits are added to a semaphore, and waiters are told.
-- Effects as RSemaphore's release and releaseIfExists (wire format 2.10). A TTL is kept.
-- Begins with shared/count.lua.
-- KEYS[1] name   KEYS[2] record of this operation   ARGV[1] permits   ARGV[2] life of the record in ms
-- ARGV[3] channel   ARGV[4] 1: only if the semaphore exists
-- Returns 1, or 0 when there was no semaphore and there was to be one, or -1 when there would be too many permits: then
-- nothing is changed.
-- May be sent twice: the record repeats what the first time came of it.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local recorded = redis.call('get', KEYS[2])
if recorded then
    if redis.call('pttl', KEYS[2]) < tonumber(ARGV[2]) then
        redis.call('pexpire', KEYS[2], ARGV[2])
    end
    return tonumber(recorded) or 0
end
if not value and ARGV[4] == '1' then
    redis.call('set', KEYS[2], '0', 'px', ARGV[2])
    return 0
end
if value and not is_count(value) then
    return refuse_text()
end
if (tonumber(value) or 0) + ARGV[1] > PERMITS_MAX then
    redis.call('set', KEYS[2], '-1', 'px', ARGV[2])
    return -1
end
value = redis.call('incrby', KEYS[1], ARGV[1])
redis.call('set', KEYS[2], '1', 'px', ARGV[2])
redis.call('publish', ARGV[3], string.format('%.0f', value))
return 1
