-- force_release_group: frees the values, whoever holds them, and notifies waiters.
-- Begins with shared/group.lua.
-- KEYS[1] group   ARGV[1] channel   ARGV[2] number of values   ARGV[3...] values
-- Returns 1 if any value had an owner, also one whose lease is over; else 0. A key of another type or shape is an
-- error.
-- SPDX-License-Identifier: Apache-2.0
local removed = 0
local owners = {}
for i = 3, #ARGV do
    owners[i] = owner_of(KEYS[1], ARGV[i])
    if owners[i] == false then
        return wrong_group()
    end
end
if not next(owners) and is_foreign(KEYS[1]) then
    return wrong_group()
end
for i = 3, #ARGV do
    local owner = owners[i]
    if owner then
        local own = ARGV[i] .. ':' .. owner
        redis.call('hdel', KEYS[1], ARGV[i], own .. ':expire_time', own .. ':lock_count')
        removed = 1
    end
end
if removed == 1 then
    redis.call('publish', ARGV[1], '0')
end
return removed
