-- one_holder: what scripts begin with that have to know whether a hash is a lock which one owner holds at a time.
-- Begins with shared/owner.lua.
-- SPDX-License-Identifier: Apache-2.0
-- The owner and its count, as text; nil when the hash is something else, which is to stay as it is: such a lock has
-- one field, an owner with a number (wire format 1.5). Of a key of another type it is an error. The asker's own field
-- needs no closer look.
local function holder_of(name, own)
    local fields = redis.call('hlen', name) == 1 and redis.call('hgetall', name) or {}
    if fields[2] and string.find(fields[2], '^%d+$') and (fields[1] == own or is_owner(fields[1])) then
        return fields[1], fields[2]
    end
end

local function wrong_hash()
    return redis.error_reply('WRONGTYPE the key is no lock of this kind')
end
