-- acquire_semaphore: takes permits from a semaphore that has as many, or takes none. If a limit is given and the
-- semaphore does not exist, creates it first.
-- Effects as RSemaphore's tryAcquire, after its trySetPermits (wire format 2.10).
-- Begins with shared/count.lua.
-- Begins with shared/record.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] record of this operation   ARGV[1] TTL of the record in ms   ARGV[2] number of the operation
-- ARGV[3] permits   ARGV[4] channel   ARGV[5] limit, the permits of a new semaphore; 0: none is created
-- Returns the number of permits taken, which is ARGV[3] or 0. Returns -1 if the semaphore does not exist.
-- May be sent twice: the record repeats the outcome of the first execution, also 0. After undo_taken, takes none.
-- Types of keys and the value are checked before the first write.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local recorded = recorded_in(KEYS[2])
if recorded then
    local taken = tonumber(recorded) or 0
    return taken == 0 and not value and -1 or taken
end
local makes = not value and ARGV[5] ~= '0'
local denied = missing_permission(KEYS[2], 'set') or (makes and missing_permission(KEYS[1], 'set', 'decrby'))
if denied then
    return denied
end
if makes then
    value = ARGV[5]
    redis.call('set', KEYS[1], value)
end
local taken = 0
if value then
    if not is_count(value) then
        return wrong_text()
    end
    if tonumber(value) >= tonumber(ARGV[3]) then
        redis.call('decrby', KEYS[1], ARGV[3])
        taken = ARGV[3]
    end
end
record(KEYS[2], taken)
if makes and tonumber(value) > tonumber(taken) then
    redis.call('publish', ARGV[4], string.format('%.0f', value - taken))
end
return value and tonumber(taken) or -1
