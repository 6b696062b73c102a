-- record: for scripts whose intended result cannot be stated by arguments. They record the outcome of an operation, and
-- repeat it if they are sent again. ARGV[1] is the TTL of the record in ms, ARGV[2] the number of the operation.
-- A key holds the record of one operation after the other. A record of another number is not needed any more, and is
-- overwritten.
-- SPDX-License-Identifier: Apache-2.0
-- Returns the outcome that this operation recorded, as text, and raises the record's TTL. Returns nil if there is none.
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
