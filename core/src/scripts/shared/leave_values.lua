-- leave_values: how an owner releases its values of a group (wire format 2.9), ARGV[first] to ARGV[last], and never a
-- part of them. If some belong to another owner by now, the hold is lost. What is left of it is removed all the same,
-- so that nobody waits for it (W-20). A full release writes with HDEL only. A server that is out of memory executes it.
-- Begins with shared/held_values.lua.
-- Begins with shared/levels.lua.
-- SPDX-License-Identifier: Apache-2.0
-- Lowers the owner's hold count to `left`, a text; '0' removes its fields. Returns whether it held all values, and
-- whether any became free.
local function leave_values(group, owner, left, first, last)
    local held, removed = held_until(redis.call, group, owner, first, last) ~= nil, 0
    for i = first, last do
        local own = ARGV[i] .. ':' .. owner
        if left == '0' then
            if redis.call('hget', group, ARGV[i]) == owner then
                removed = removed + redis.call('hdel', group, ARGV[i])
            end
            redis.call('hdel', group, own .. ':expire_time', own .. ':lock_count')
        elseif held then
            lower(group, own .. ':lock_count', left)
        end
    end
    return held, removed > 0
end
