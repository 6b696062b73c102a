-- force_release_fair: the lock is free, whoever held it, and the head of the queue is called (RFairLock's forceUnlock,
-- wire format 2.2), also when it was free before: a head that was not told may stand there.
-- Begins with shared/fair_queue.lua.
-- KEYS[1] name   ARGV[1] ms within which a live head comes   ARGV[2] channel
-- Returns 1 when there was a lock, else 0. hlen makes a key of another type an error before anything is deleted.
-- SPDX-License-Identifier: Apache-2.0
redis.call('hlen', KEYS[1])
local deleted = redis.call('del', KEYS[1])
call_head(tonumber(ARGV[1]), ARGV[2])
return deleted
