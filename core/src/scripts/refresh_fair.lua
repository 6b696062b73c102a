-- refresh_fair: waiters of one client keep their places: none of them is taken off because its time is over.
-- Begins with shared/fair_queue.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] ms for which the heartbeat holds   ARGV[2...] numbers of the client's waiters
-- Returns the numbers of those that have no place; it gives them none. A head that was called gets no more than it has
-- to come within.
-- May be sent twice or late: places and scores of others are untouched, no score is lowered.
-- SPDX-License-Identifier: Apache-2.0
local denied = missing_permission(sign, 'set') or missing_permission(queue, 'persist')
if denied then
    return denied
end
redis.call('get', sign) -- an error when it is something else
local free = redis.call('exists', KEYS[1]) == 0
local head = redis.call('lindex', queue, 0)
local stands
if redis.call('llen', queue) ~= redis.call('zcard', timeouts) then -- something took halves of places away
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
