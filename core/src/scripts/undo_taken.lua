-- undo_taken: what an operation took is given back, and the operation takes nothing any more.
-- Begins with shared/count.lua.
-- Begins with shared/record.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] record of that operation   ARGV[1] life of the record in ms   ARGV[2] number of that operation
-- ARGV[3] channel
-- Returns how many were given back.
-- May be sent twice, before, after or without what it undoes: the record becomes a mark that this script respects, and
-- the others take for an error reply. A semaphore that was deleted meanwhile is not made again, and what is something
-- else by now stays as it is. What others gave it meanwhile may leave no room for all of it.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local denied = missing_permission(KEYS[2], 'set') or missing_permission(KEYS[1], 'incrby')
if denied then
    return denied
end
local recorded = recorded_in(KEYS[2])
record(KEYS[2], 'undone')
local taken = tonumber(recorded or 0) or 0
if taken == 0 or not (value and is_count(value)) then
    return 0
end
taken = math.min(taken, math.max(PERMITS_MAX - value, 0))
value = redis.call('incrby', KEYS[1], string.format('%.0f', taken))
if value > 0 then
    redis.call('publish', ARGV[3], string.format('%.0f', value))
end
return taken
