-- release_fair: lowers the owner's hold count to the levels left. With 0 left, frees the lock and calls the head of the
-- queue. A waiter that gives up leaves the queue by the same script.
-- Message and channels as RFairLock's release (wire format 2.2, 1.6). If nobody is queued, the message is published on
-- the lock's own channel.
-- Begins with shared/fair_queue.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] owner   ARGV[2] levels left   ARGV[3] 1: the owner leaves the queue, too
-- ARGV[4] ms that a called head has to acquire   ARGV[5] channel
-- Returns 0 if the owner holds nothing. Else returns 1 plus, if the lock became free, the number of receivers.
-- May be sent twice: a repeat finds no field and no position (full release) or the count it left (partial). A lease is
-- never shortened. A queue of another type stays unchanged and does not prevent the release.
-- SPDX-License-Identifier: Apache-2.0
if ARGV[2] ~= '0' then
    local count = redis.call('hget', KEYS[1], ARGV[1])
    if not count then
        return 0
    end
    if (tonumber(count) or 0) > tonumber(ARGV[2]) then
        redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
    end
    return 1
end
local denied = missing_permission(KEYS[1], 'hdel') or missing_permission(queue, 'lpop') or
    missing_permission(timeouts, 'zrem', 'zadd') or missing_permission(sign, 'del')
if denied then
    return denied
end
local leaver = ARGV[3] == '1' and ARGV[1]
local length, fields = leaver and redis.pcall('llen', queue), redis.pcall('hlen', KEYS[1])
local head, score, gone = seek_head(nil, leaver)
if leaver then -- also if the key of the lock has another type by now
    redis.pcall('zrem', timeouts, leaver)
    if redis.pcall('lrem', queue, 0, leaver) == length or length == 0 then
        drop_sign()
    end
end
local held = redis.call('hdel', KEYS[1], ARGV[1])
local receivers = 0
if fields == held then
    strike(gone)
    receivers = call_head(tonumber(ARGV[4]), ARGV[5], head, score)
end
return held == 1 and 1 + receivers or 0
