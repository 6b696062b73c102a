-- one_holder: for scripts that must know whether a hash is a lock that one owner holds at a time.
-- Begins with shared/owner.lua.
-- SPDX-License-Identifier: Apache-2.0
-- Returns the owner and its count, as text. Returns nil if the hash is something else, which must stay unchanged: such
-- a lock has one field, an owner id with a count (wire format 1.5). A key of another type is an error. The form of the
-- caller's own field, `own`, is not checked.
local function holder_of(name, own)
    local fields = redis.call('hlen', name) == 1 and redis.call('hgetall', name) or {}
    if fields[2] and string.find(fields[2], '^%d+$') and (fields[1] == own or is_owner(fields[1])) then
        return fields[1], fields[2]
    end
end

local function wrong_hash()
    return redis.error_reply('WRONGTYPE the key is no lock of this kind')
end
