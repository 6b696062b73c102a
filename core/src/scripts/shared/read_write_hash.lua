-- read_write_hash: for scripts of read-write locks that may find another hash (wire format 2.5, 2.6).
-- Begins with shared/owner.lua.
-- SPDX-License-Identifier: Apache-2.0
-- Returns whether a field is that of a reader, or of a writer.
local function is_party(field)
    return is_owner(field) or string.sub(field, -6) == ':write' and is_owner(string.sub(field, 1, -7))
end

-- Returns whether a hash that has a mode is a read-write lock: its other fields are parties. One random field shows it,
-- or one of two if the first is the mode. On servers older than 6.2, and with some access rules, all fields are read.
local function is_read_write(name)
    local field = redis.pcall('hrandfield', name)
    if type(field) == 'string' and field ~= 'mode' then
        return is_party(field)
    end
    local fields = field == 'mode' and redis.call('hrandfield', name, 2) or redis.call('hkeys', name)
    return is_party(fields[1]) or fields[2] ~= nil and is_party(fields[2])
end

local function wrong_read_write()
    return redis.error_reply('WRONGTYPE the key is no read-write lock')
end
