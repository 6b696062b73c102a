-- levels: how many levels an owner has, stated in its field of a hash.
-- SPDX-License-Identifier: Apache-2.0
-- Leaves an owner with fewer levels; those it had, as text, or false when it holds nothing.
local function lower(name, field, left)
    local count = redis.call('hget', name, field)
    if count and (tonumber(count) or 0) > tonumber(left) then
        redis.call('hset', name, field, left)
    end
    return count
end
