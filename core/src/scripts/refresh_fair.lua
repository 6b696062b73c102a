-- refresh_fair: keeps the positions of waiters of one client. None of them is removed because its time is over.
-- Begins with shared/fair_queue.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] TTL of the heartbeat key in ms   ARGV[2...] numbers of the client's waiters
-- Returns the numbers of the waiters that have no position; it gives them none. The score of a called head is raised to
-- no more than ARGV[1] ms from now.
-- May be sent twice or late: positions and scores of others stay unchanged, and no score is lowered.
-- SPDX-License-Identifier: Apache-2.0
local denied = missing_permission(sign, 'set') or missing_permission(queue, 'persist')
if denied then
    return denied
end
redis.call('get', sign) -- an error if it is no string
local free = redis.call('exists', KEYS[1]) == 0
local head = redis.call('lindex', queue, 0)
local stands
if redis.call('llen', queue) ~= redis.call('zcard', timeouts) then -- a waiter is in only one of the two
    stands = {}
    for _, owner in ipairs(redis.call('lrange', queue, 0, -1)) do
        stands[owner] = true
    end
end
local absent, mine, found = {}, string.sub(sign, -36) .. ':', false
for i = 2, #ARGV do
    local owner = mine .. ARGV[i]
    local score = redis.call('zscore', timeouts, owner)
    if score and (not stands or stands[owner]) then
        found = true
        local latest = now + (free and owner == head and tonumber(ARGV[1]) or FOREIGN_TIMEOUT)
        if tonumber(score) < latest then
            set_score(owner, latest)
        end
    else
        absent[#absent + 1] = ARGV[i]
    end
end
if found then
    redis.call('set', sign, '1', 'px', ARGV[1])
    redis.call('persist', queue)
    redis.call('persist', timeouts)
end
return absent
