-- force_release_fair: frees the lock, whoever holds it, and calls the head of the queue (RFairLock's forceUnlock, wire
-- format 2.2). Calls the head also if the lock was free before, because that head may not have been notified.
-- Begins with shared/one_holder.lua.
-- Begins with shared/fair_queue.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] ms that a called head has to acquire   ARGV[2] channel
-- Returns 1 if there was a lock, else 0. A key of another type, or a hash that is no such lock, is an error.
-- SPDX-License-Identifier: Apache-2.0
if not holder_of(KEYS[1]) and redis.call('exists', KEYS[1]) == 1 then
    return wrong_hash()
end
local denied = missing_permission(queue, 'lpop') or missing_permission(timeouts, 'zrem', 'zadd')
if denied then
    return denied
end
local head, score, gone = seek_head()
local deleted = redis.call('del', KEYS[1])
strike(gone)
call_head(tonumber(ARGV[1]), ARGV[2], head, score)
return deleted
