-- set_permits: a permit semaphore has so many permits in all, those that are taken included; it may owe some then.
-- Effects as RPermitExpirableSemaphore's setPermits (wire format 2.11); nobody is told of permits that nobody can have.
-- Begins with shared/permits.lua.
-- Begins with shared/count.lua.
-- KEYS[1] name   KEYS[2] leases   KEYS[3] record of this operation   ARGV[1] permits   ARGV[2] life of the record in ms
-- ARGV[3] channel
-- Returns 1. May be sent twice: the record says that it was done.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local taken = redis.call('zcard', KEYS[2])
local recorded = redis.call('get', KEYS[3])
if recorded then
    if redis.call('pttl', KEYS[3]) < tonumber(ARGV[2]) then
        redis.call('pexpire', KEYS[3], ARGV[2])
    end
    return 1
end
local first = redis.call('zrange', KEYS[2], 0, 0)[1]
if first and not is_permit(first) then
    return refuse_leases()
end
if value and not is_count(value) then
    return refuse_text()
end
local more = value and ARGV[1] - (value + taken) or ARGV[1]
local available = redis.call('incrby', KEYS[1], string.format('%.0f', more))
redis.call('set', KEYS[3], '1', 'px', ARGV[2])
if tonumber(more) ~= 0 and available > 0 then
    redis.call('publish', ARGV[3], string.format('%.0f', available))
end
return 1
