-- extend_read: sets a reader's lease, with the timeout key of each level, also if that is shorter. May move the hold to
-- a new owner id.
-- Begins with shared/readers.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2...] timeout keys of the first levels of from and, if it differs, of to   ARGV[1] from
-- ARGV[2] to: the same owner id, or the new one   ARGV[3] hold count after a move   ARGV[4] lease in ms
-- ARGV[5] base of timeout keys
-- Returns 1, or 0 if the owner does not hold the lock or its lease is over.
-- Because it may shorten the lease, the caller sends it only while no other command of the hold is unanswered.
-- A shorter lease lowers the TTL of the lock to the longest timeout key of all readers. The TTL stays if a writer holds
-- the lock too, or if a client extended the lock without the timeout keys.
-- A move may be sent twice: a repeat finds the new id.
-- SPDX-License-Identifier: Apache-2.0
local from, to, lease, base = ARGV[1], ARGV[2], tonumber(ARGV[4]), ARGV[5]
local count = redis.call('hget', KEYS[1], from)
if not count then
    return redis.call('hexists', KEYS[1], to)
end
local mine = longest_of(KEYS[1], base, from, 1, count)
if mine == -2 then
    return 0
end
local ttl = redis.call('pttl', KEYS[1])
local ends = lease
if lease < ttl then
    local stays = ttl > mine + 1000 or redis.call('hget', KEYS[1], 'mode') ~= 'read'
    ends = stays and ttl or math.max(lease, (longest_of_all(KEYS[1], base, from, to)))
end
local denied = missing_permission(KEYS[1], 'hdel', 'pexpire') or
    missing_permission(timeout_of(base, to, 1), 'set', 'pexpire', 'del')
if denied then
    return denied
end
if from ~= to then
    redis.call('hset', KEYS[1], to, ARGV[3])
    redis.call('hdel', KEYS[1], from)
    for nth = 1, math.min(tonumber(ARGV[3]), 1000) do
        redis.call('set', timeout_of(base, to, nth), '1', 'px', ARGV[4])
    end
end
for nth = 1, math.min(tonumber(count) or 0, 1000) do
    if from == to then
        redis.call('pexpire', timeout_of(base, to, nth), ARGV[4])
    else
        redis.call('del', timeout_of(base, from, nth))
    end
end
if lease >= ttl or ends < ttl then
    redis.call('pexpire', KEYS[1], ends)
end
return 1
