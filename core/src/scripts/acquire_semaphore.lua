-- acquire_semaphore: permits are taken off a semaphore that has as many, or none at all. One that does not exist is
-- made before, where a limit is given.
-- Effects as RSemaphore's tryAcquire, after its trySetPermits (wire format 2.10).
-- Begins with shared/count.lua.
-- Begins with shared/record.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] record of this operation   ARGV[1] life of the record in ms   ARGV[2] number of the operation
-- ARGV[3] permits   ARGV[4] channel   ARGV[5] limit, 0: the semaphore is not made
-- Returns the permits taken: as many as asked for, or 0; -1 when the semaphore does not exist.
-- May be sent twice: the record repeats what the first time came of it, an error reply too; after a give-up none are
-- taken.
-- What can be refused comes first: keys of another type, a value that is no number.
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
