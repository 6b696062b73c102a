-- undo_taken: gives back what an operation took, and makes a late copy of that operation take nothing.
-- Begins with shared/count.lua.
-- Begins with shared/record.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] record of that operation   ARGV[1] TTL of the record in ms   ARGV[2] number of that operation
-- ARGV[3] channel
-- Returns how many permits were given back.
-- May be sent twice, and before, after or without the operation: the record becomes `undone`. A repeat then gives back
-- nothing, and a late copy of the operation takes nothing. A semaphore that was deleted meanwhile is not created again,
-- and a key that is something else by now stays unchanged. If others added permits meanwhile, fewer may be given back,
-- because the number may not exceed PERMITS_MAX.
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
