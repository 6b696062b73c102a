-- record: what scripts begin with whose result cannot be stated: they record what came of an operation, and repeat that
-- when they are sent again. They have ARGV[1] life of the record in ms and ARGV[2] number of the operation.
-- The key of a record serves one operation after the other: a record of another number is over, and is overwritten.
-- SPDX-License-Identifier: Apache-2.0
-- What this operation recorded, as text, and it lives for as long again; nil if it recorded nothing yet.
local function recorded_in(key)
    local number, result = string.match(redis.call('get', key) or '', '^(%d+):(.*)$')
    if number ~= ARGV[2] then
        return nil
    end
    if redis.call('pttl', key) < tonumber(ARGV[1]) then
        redis.call('pexpire', key, ARGV[1])
    end
    return result
end

local function record(key, result)
    redis.call('set', key, ARGV[2] .. ':' .. result, 'px', ARGV[1])
end
