-- acquire_fair: the owner holds a free lock with one level if nobody stands before it; else it has, takes or lacks a
-- place in the queue, as asked.
-- Effects as RFairLock's acquire (wire format 2.2), but for scores, which are counted in the server's time (W-9).
-- Begins with shared/one_holder.lua.
-- Begins with shared/fair_queue.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] owner   ARGV[2] lease in ms   ARGV[3] place: 0 wants none, 1 takes one at the end, 2 has one
-- ARGV[4] ms it will wait   ARGV[5] ms within which a live head comes   ARGV[6] channel
-- Returns nil when the owner holds the lock; an integer when it has no place: the holder's remaining ms, -1 without a
-- lease, -2 when it is free; else what is left until something may change, in ms or -1, and the number of the head if
-- that is of the owner's client.
-- May be sent twice: a repeat finds the own field, or the own place. Sent late with place 2 it finds neither, and does
-- nothing. What can be refused comes before anything is written: keys of another type, a queue of something else; an
-- acquire that memory refuses is refused at its first write.
-- SPDX-License-Identifier: Apache-2.0
-- Thirty years: a longer lease would stay in the scores of all who queue behind it.
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
if length ~= redis.call('zcard', timeouts) then -- something took half of a place away, perhaps this one's
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
if not head and length > passed then -- no waiter stands there, but something does
    return wrong_queue()
end
local granted = ttl == -2 and (head == owner or not head and position ~= '2')
if not granted and (score or position == '1') then
    redis.call('get', sign) -- an error when it is something else
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
if ttl == -2 and head then -- left free for another
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
