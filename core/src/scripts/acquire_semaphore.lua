-- acquire_semaphore: permits are taken off a semaphore that has as many, or none at all.
-- Effects as RSemaphore's tryAcquire (wire format 2.10).
-- Begins with shared/count.lua.
-- KEYS[1] name   KEYS[2] record of this operation   ARGV[1] permits   ARGV[2] life of the record in ms
-- Returns the permits taken: as many as asked for, or 0.
-- May be sent twice: the record repeats what the first time came of it, a refusal too; after a give-up it says 0.
-- What can be refused comes first: keys of another type, a value that is no number.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
local recorded = redis.call('get', KEYS[2])
if recorded then
    if redis.call('pttl', KEYS[2]) < tonumber(ARGV[2]) then
        redis.call('pexpire', KEYS[2], ARGV[2])
    end
    return tonumber(recorded) or 0
end
local taken = 0
if value then
    if not is_count(value) then
        return refuse_text()
    end
    if tonumber(value) >= tonumber(ARGV[1]) then
        redis.call('decrby', KEYS[1], ARGV[1])
        taken = ARGV[1]
    end
end
redis.call('set', KEYS[2], taken, 'px', ARGV[2])
return tonumber(taken)
