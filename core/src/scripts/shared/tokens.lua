-- tokens: for scripts that draw fencing tokens (wire format 2.7).
-- SPDX-License-Identifier: Apache-2.0
-- Returns whether a text is a token that was issued: a decimal integer without sign or leading zeros, of at most 18
-- digits, so that INCR has room for more.
local function is_token(text)
    return text == '0' or #text <= 18 and string.find(text, '^[1-9]%d*$')
end

local function wrong_counter()
    return redis.error_reply('WRONGTYPE the counter of tokens holds no number')
end

-- Returns a new token. If `from_time` is 1, it is at least the server's time in microseconds.
local function draw_token(counter, from_time)
    redis.call('incr', counter)
    redis.call('persist', counter)
    if from_time == '1' then
        local time = redis.call('time')
        local floor = time[1] .. string.format('%06d', time[2])
        if tonumber(redis.call('get', counter)) < tonumber(floor) then
            redis.call('set', counter, floor)
        end
    end
    return redis.call('get', counter)
end
