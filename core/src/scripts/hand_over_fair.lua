-- hand_over_fair: one owner's hold becomes that of the head of the queue, which is taken off, if that is whom it is
-- meant for; if somebody else stands there, the lock is free and the head is called.
-- Other processes see another owner in the same hash, and the queue one shorter (wire format 2.2).
-- Begins with shared/fair_queue.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] from   ARGV[2] to   ARGV[3] levels of the new owner   ARGV[4] lease in ms
-- ARGV[5] ms within which a live head comes   ARGV[6] channel
-- Returns 1 when the new owner holds the lock, 2 when it was released for another, 3 when it was released and the new
-- owner has no place, 0 when neither owner held it: then nothing is written but what a free lock needs.
-- May be sent twice: a repeat finds the new owner, or none of them.
-- The new field is written before the old one goes, so the hash never becomes empty and a refused write changes
-- nothing.
-- SPDX-License-Identifier: Apache-2.0
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
    local denied = missing_permission(KEYS[1], 'hset', 'hdel', 'pexpire') or missing_permission(queue, 'lpop') or
        missing_permission(timeouts, 'zrem', 'zadd') or missing_permission(sign, 'del')
    if denied then
        return denied
    end
    local head, score, gone = seek_head(ARGV[2])
    strike(gone)
    if head == ARGV[2] then
        local last = redis.call('llen', queue) == 1
        redis.call('hset', KEYS[1], ARGV[2], ARGV[3])
        redis.call('hdel', KEYS[1], ARGV[1])
        redis.call('pexpire', KEYS[1], ARGV[4])
        redis.call('lpop', queue)
        redis.call('zrem', timeouts, ARGV[2])
        if last then
            drop_sign()
        end
        return 1
    end
    redis.call('hdel', KEYS[1], ARGV[1])
    call_head(tonumber(ARGV[5]), ARGV[6], head, score)
    return type(redis.pcall('zscore', timeouts, ARGV[2])) == 'string' and 2 or 3
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
    return 1
end
if redis.call('exists', KEYS[1]) == 0 then
    local denied = missing_permission(queue, 'lpop') or missing_permission(timeouts, 'zrem', 'zadd')
    if denied then
        return denied
    end
    local head, score, gone = seek_head(ARGV[2])
    strike(gone)
    call_head(tonumber(ARGV[5]), ARGV[6], head, score)
end
return 0
