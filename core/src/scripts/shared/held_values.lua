-- held_values: whether an owner holds values of a group (wire format 2.9), ARGV[first] to ARGV[last].
-- Begins with shared/clock.lua.
-- SPDX-License-Identifier: Apache-2.0
-- Returns the time at which the first lease of these values ends, if the owner holds all of them, else nil. `read` is
-- redis.call or redis.pcall.
local function held_until(read, group, owner, first, last)
    local now, soonest = server_time(), nil
    for i = first, last do
        local ends = read('hget', group, ARGV[i] .. ':' .. owner .. ':expire_time')
        ends = type(ends) == 'string' and tonumber(ends) or 0
        if read('hget', group, ARGV[i]) ~= owner or ends <= now then
            return nil
        end
        soonest = math.min(soonest or ends, ends)
    end
    return soonest
end
