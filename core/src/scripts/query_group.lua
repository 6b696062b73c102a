-- query_group: returns whether any of the values is held, by whom, how often and for how long; writes nothing.
-- Begins with shared/clock.lua.
-- Begins with shared/group.lua.
-- KEYS[1] group   ARGV[1] number of values   ARGV[2...] values
-- Returns an empty array if all are free. Else returns the ms until all are free, and owner and count of the value that
-- is free last. A key of another type or shape is an error.
-- SPDX-License-Identifier: Apache-2.0
local now = server_time()
local longest, holder, count, known = now, nil, nil, false
for i = 2, #ARGV do
    local owner, ends = owner_of(KEYS[1], ARGV[i])
    if owner == false then
        return wrong_group()
    end
    known = known or owner
    if owner and ends > longest then
        longest, holder, count = ends, owner, redis.call('hget', KEYS[1], ARGV[i] .. ':' .. owner .. ':lock_count')
    end
end
if not known and is_foreign(KEYS[1]) then
    return wrong_group()
end
if not holder then
    return {}
end
return {longest - now, holder, count or '0'}
