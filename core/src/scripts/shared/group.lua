-- group: what scripts of group locks begin with that meet values of others, or something else (wire format 2.9).
-- SPDX-License-Identifier: Apache-2.0
local FIELDS_MAX = 100 -- that are looked at

local function wrong_group()
    return redis.error_reply('WRONGTYPE the key is no group of locks')
end

-- The owner of a value, and until when it is that; nil for none. false when the fields make no sense.
local function owner_of(group, value)
    local owner = redis.call('hget', group, value)
    if not owner then
        return nil
    end
    local ends = redis.call('hget', group, value .. ':' .. owner .. ':expire_time')
    return ends and tonumber(ends) and owner, tonumber(ends)
end

-- Whether a hash is something else: of its fields, or of some of many, none is what a value's owner has of it.
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
