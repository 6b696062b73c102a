-- group: for scripts of group locks that may find values of other owners, or a hash that is no group (wire format 2.9).
-- SPDX-License-Identifier: Apache-2.0
local FIELDS_MAX = 100 -- of a larger hash only some fields are read

local function wrong_group()
    return redis.error_reply('WRONGTYPE the key is no group of locks')
end

-- Returns the owner of a value, and the end of its lease; nil if there is no owner, false if its end is no number.
local function owner_of(group, value)
    local owner = redis.call('hget', group, value)
    if not owner then
        return nil
    end
    local ends = redis.call('hget', group, value .. ':' .. owner .. ':expire_time')
    return ends and tonumber(ends) and owner, tonumber(ends)
end

-- Returns whether a hash is no group: no field (of a large hash, none of some fields) is that of a value's owner.
local function is_foreign(group)
    local size, step = redis.call('hlen', group), 1
    local fields = {}
    if size > FIELDS_MAX then
        fields, step = redis.call('hscan', group, '0', 'count', FIELDS_MAX)[2], 2
    elseif size > 0 then
        fields = redis.call('hkeys', group)
    end
    for i = 1, #fields, step do
        local hashed, what = string.match(fields[i], '^([%w+/]+):.+:(%a+_%a+)$')
        if hashed and #hashed == 22 and (what == 'expire_time' or what == 'lock_count') then
            return false
        end
    end
    return #fields > 0
end
