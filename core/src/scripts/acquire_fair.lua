-- acquire_fair: acquires a free lock for the owner, with one level, unless another waiter is before it in the queue.
-- Else the queue mode says whether the owner enters the queue.
-- Effects as RFairLock's acquire (wire format 2.2), except that scores are computed from the server's time (W-9).
-- Begins with shared/one_holder.lua.
-- Begins with shared/fair_queue.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] owner   ARGV[2] lease in ms
-- ARGV[3] queue mode: 0 tries once, 1 enters the queue at the end, 2 has a position already
-- ARGV[4] timeout of the caller in ms, 0 without one
-- ARGV[5] ms that a called head has to acquire, also the TTL of the heartbeat key   ARGV[6] channel
-- Returns nil if the owner holds the lock. Returns an integer if the owner is not queued: the holder's remaining ms, -1
-- if the lock has no TTL, -2 if it is free. Returns an array if the owner is queued: the ms until something may change,
-- -1 if the lock has no TTL; and the number of the head if that is of the same client, else an empty string.
-- May be sent twice: a repeat finds the owner's field or its position. A late copy with mode 2 finds neither: it does
-- not acquire and does not enter the queue. Types of keys and elements of the queue are checked before the first write.
-- If a server that is out of memory refuses the acquire, it refuses the first write.
-- SPDX-License-Identifier: Apache-2.0
-- The TTL counts as at most thirty years, because the scores of all later waiters are computed from it.
local LEASE_MAX = 1000000000000
local owner, position = ARGV[1], ARGV[3]
local ttl = math.min(redis.call('pttl', KEYS[1]), LEASE_MAX)
local holder = ttl ~= -2 and holder_of(KEYS[1], owner)
if holder == owner then
    if ttl < tonumber(ARGV[2]) then
        redis.call('pexpire', KEYS[1], ARGV[2])
    end
    return nil
end
if ttl ~= -2 and not holder then
    return wrong_hash()
end
local denied = missing_permission(KEYS[1], 'hset', 'pexpire') or
    missing_permission(queue, 'lpop', 'rpush', 'persist') or missing_permission(timeouts, 'zadd', 'zrem') or
    missing_permission(sign, 'set', 'pexpire', 'del')
if denied then
    return denied
end
local length, score, is_half = redis.call('llen', queue), redis.call('zscore', timeouts, owner), false
if length ~= redis.call('zcard', timeouts) then -- a waiter is in only one of the two, perhaps this owner
    local stands = false
    for _, other in ipairs(redis.call('lrange', queue, 0, -1)) do
        if not is_owner(other) then
            return wrong_queue()
        end
        stands = stands or other == owner
    end
    local first = redis.call('zrange', timeouts, 0, 0)[1]
    if first and not is_owner(first) then
        return redis.error_reply('WRONGTYPE the time-outs hold something else than waiters')
    end
    is_half = not (stands and score)
    score = stands and score
end
local head, head_score, gone, passed = seek_head(owner, is_half and owner)
if not head and length > passed then -- the next element is no owner id
    return wrong_queue()
end
local granted = ttl == -2 and (head == owner or not head and position ~= '2')
if not granted and (score or position == '1') then
    redis.call('get', sign) -- an error if it is no string
end
if is_half then
    redis.call('lrem', queue, 0, owner)
    redis.call('zrem', timeouts, owner)
end
strike(gone)
if granted then
    redis.call('hset', KEYS[1], owner, 1)
    redis.call('pexpire', KEYS[1], ARGV[2])
    if head then
        redis.call('lpop', queue)
        redis.call('zrem', timeouts, owner)
        if length == passed + 1 then
            drop_sign()
        end
    end
    return nil
end
if ttl == -2 and head then -- it stays free for another waiter
    local _, called_score = call_head(tonumber(ARGV[5]), ARGV[6], head, head_score)
    head_score = called_score
end
local longest = math.max(tonumber(ARGV[4]), FOREIGN_TIMEOUT)
if score then
    if redis.call('pexpire', sign, ARGV[5]) == 0 then
        redis.call('set', sign, '1', 'px', ARGV[5])
    end
    if tonumber(score) < now + FOREIGN_TIMEOUT then
        set_score(owner, now + FOREIGN_TIMEOUT)
    end
elseif position == '1' then
    length = redis.call('llen', queue)
    local last = length > 0 and redis.call('zscore', timeouts, redis.call('lindex', queue, -1)) or 0
    local latest = math.max(now + math.max(ttl, 0) + (length + 1) * longest, tonumber(last) + longest)
    redis.call('zadd', timeouts, string.format('%.0f', latest), owner)
    redis.call('rpush', queue, owner)
    redis.call('set', sign, '1', 'px', ARGV[5])
else
    return ttl
end
redis.call('persist', queue)
redis.call('persist', timeouts)
if ttl == -2 then
    local its_sign = sign_of(head)
    ttl = math.max(math.min(head_score - now, its_sign and redis.call('pttl', its_sign) or head_score - now), 50)
end
local ours = head and string.sub(head, 1, 37) == string.sub(owner, 1, 37)
return {ttl, ours and string.sub(head, 38) or ''}
