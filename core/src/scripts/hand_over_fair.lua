-- hand_over_fair: passes the hold of one owner to a new owner, and removes the new owner from the queue, if it is the
-- head. Else releases the lock and calls the head.
-- Other processes see another owner in the same hash, and the queue one shorter (wire format 2.2).
-- Begins with shared/fair_queue.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] from   ARGV[2] to   ARGV[3] hold count of the new owner   ARGV[4] lease in ms
-- ARGV[5] ms that a called head has to acquire   ARGV[6] channel
-- Returns 1 if the new owner holds the lock, 2 if the lock was released for another waiter, 3 if it was released and
-- the new owner is not queued, 0 if neither owner held it: then, if the lock is free, its head is called.
-- May be sent twice: a repeat finds the new owner or neither.
-- The new field is written before the old one is removed, so the hash never becomes empty, and a refused write changes
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
