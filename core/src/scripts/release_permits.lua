-- release_permits: gives back the permits with these ids, and notifies waiters.
-- Effects as RPermitExpirableSemaphore's release (wire format 2.11). A permit whose lease is over is given back, too.
-- Begins with shared/clock.lua.
-- Begins with shared/count.lua.
-- Begins with shared/record.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] leases   KEYS[3] record of this operation, or none
-- ARGV[1] TTL of the record in ms   ARGV[2] number of the operation
-- ARGV[3] channel   ARGV[4...] ids of 16 bytes
-- Returns 1 plus the number of receivers if no lease was over, 0 if no such permit is in use, -1 if a lease was over.
-- May be sent twice: a repeat finds no id, or the record of the first execution. The number of permits is raised before
-- the ids are removed: a server that is out of memory refuses the first, and then nothing is written.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local recorded = KEYS[3] and recorded_in(KEYS[3])
if recorded then
    return tonumber(recorded) or 0
end
local now = server_time()
local found, over = {}, false
for i = 4, #ARGV do
    local score = redis.call('zscore', KEYS[2], ARGV[i])
    if score then
        found[#found + 1] = ARGV[i]
        over = over or tonumber(score) <= now
    end
end
local result = #found == 0 and 0 or over and -1 or 1
local denied = missing_permission(KEYS[2], 'zrem') or KEYS[3] and missing_permission(KEYS[3], 'set')
if denied then
    return denied
end
if #found > 0 then
    if value and not is_count(value) then
        return wrong_text()
    end
    if value then
        value = redis.call('incrby', KEYS[1], #found)
    end
    redis.call('zrem', KEYS[2], unpack(found))
end
if KEYS[3] then
    record(KEYS[3], result)
end
if #found > 0 and value and value > 0 then
    local receivers = redis.call('publish', ARGV[3], string.format('%.0f', value))
    result = result == 1 and 1 + receivers or result
end
return result
