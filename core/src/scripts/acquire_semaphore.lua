-- acquire_semaphore: permits are taken off a semaphore that has as many, or none at all.
-- Effects as RSemaphore's tryAcquire (wire format 2.10).
-- Begins with shared/count.lua.
-- Begins with shared/record.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] record of this operation   ARGV[1] life of the record in ms   ARGV[2] number of the operation
-- ARGV[3] permits
-- Returns the permits taken: as many as asked for, or 0.
-- May be sent twice: the record repeats what the first time came of it, an error reply too; after a give-up it says 0.
-- What can be refused comes first: keys of another type, a value that is no number.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local recorded = recorded_in(KEYS[2])
if recorded then
    return tonumber(recorded) or 0
end
local denied = missing_permission(KEYS[2], 'set')
if denied then
    return denied
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
return tonumber(taken)
