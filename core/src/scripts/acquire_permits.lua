-- acquire_permits: takes permits, each with a lease, from a permit semaphore that has as many, or takes none. If a
-- limit is given and the semaphore does not exist, creates it first.
-- Effects as RPermitExpirableSemaphore's tryAcquire, after its trySetPermits (wire format 2.11), but by the server's
-- clock. At most a thousand expired permits are given back (W-21).
-- Begins with shared/clock.lua.
-- Begins with shared/permit_ids.lua.
-- Begins with shared/count.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] leases   ARGV[1] lease in ms   ARGV[2] channel
-- ARGV[3] limit, the permits of a new semaphore; 0: none is created   ARGV[4...] ids of 16 bytes
-- Returns nil if the permits with these ids are taken. Else returns the ms until the next lease ends, -1 for never, or
-- -2 if the semaphore does not exist.
-- May be sent twice: a repeat finds an id, and raises the leases of the ids that are there to the given one.
-- New leases are added, and those that stay are read, before the expired ones are removed: a node from which the slot
-- migrates refuses a key that was deleted.
-- SPDX-License-Identifier: Apache-2.0
local NEVER, CHUNK = 922337203685477, 1000
local value = redis.call('get', KEYS[1])
local now = server_time()
local over = string.format('%.0f', now + ARGV[1])
local repeated = false
for i = 4, #ARGV do
    local score = redis.call('zscore', KEYS[2], ARGV[i])
    if score then
        repeated = true
        if tonumber(score) < tonumber(over) then
            redis.call('zadd', KEYS[2], over, ARGV[i])
        end
    end
end
if repeated then
    return nil
end
if value and not is_count(value) then
    return wrong_text()
end
local nearest = redis.call('zrange', KEYS[2], 0, 0, 'withscores')
local expired = {}
if nearest[1] and tonumber(nearest[2]) <= now then
    expired = redis.call('zrangebyscore', KEYS[2], 0, string.format('%.0f', now), 'limit', 0, CHUNK)
end
for _, id in ipairs({nearest[1], unpack(expired)}) do
    if not is_permit(id) then
        return wrong_leases()
    end
end
local makes = not value and ARGV[3] ~= '0'
if not value and not makes then
    return -2
end
local denied = (makes and missing_permission(KEYS[1], 'set')) or missing_permission(KEYS[1], 'incrby', 'decrby') or
    missing_permission(KEYS[2], 'zrem', 'zadd', 'persist', 'pexpire')
if denied then
    return denied
end
if makes then
    value = ARGV[3]
    redis.call('set', KEYS[1], value)
end
local count = #ARGV - 3
local granted = value + #expired >= count
if #expired > 0 then
    nearest = redis.call('zrange', KEYS[2], #expired, #expired, 'withscores')
    value = redis.call('incrby', KEYS[1], #expired)
end
if granted then
    value = redis.call('decrby', KEYS[1], count)
    for i = 4, #ARGV do
        redis.call('zadd', KEYS[2], over, ARGV[i])
    end
end
if #expired > 0 then
    redis.call('zrem', KEYS[2], unpack(expired))
end
if granted then
    if #expired > 0 and not nearest[1] then
        redis.call('persist', KEYS[2]) -- its TTL was set with the leases that ended
    end
    local ttl = redis.call('pttl', KEYS[1])
    if ttl > 0 then
        redis.call('pexpire', KEYS[2], ttl)
    end
end
if (makes or #expired > 0) and tonumber(value) > 0 then
    redis.call('publish', ARGV[2], string.format('%.0f', value))
end
if granted then
    return nil
end
if not nearest[2] or tonumber(nearest[2]) >= NEVER then
    return -1
end
return math.max(tonumber(nearest[2]) - now, 0)
