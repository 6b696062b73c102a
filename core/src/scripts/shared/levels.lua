-- levels: the hold count of an owner, stated in its field of a hash.
-- SPDX-License-Identifier: Apache-2.0
-- Lowers the hold count to `left`, if it is higher. Returns the count before, as text; false if there is no hold.
local function lower(name, field, left)
    local count = redis.call('hget', name, field)
    if count and (tonumber(count) or 0) > tonumber(left) then
        redis.call('hset', name, field, left)
    end
    return count
end
