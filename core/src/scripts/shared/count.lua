-- count: what scripts begin with that work with a number in a string, as those of semaphores and latches do.
-- SPDX-License-Identifier: Apache-2.0
-- Whether a text is a number that Redis and Lua both count with, without losing any of it.
local function is_count(text)
    return string.find(text, '^%-?%d+$') and string.format('%.0f', tonumber(text)) == text
end

-- The most permits there may be, in all, as Redisson's (a Java int); a number is refused by a script that says -1.
local PERMITS_MAX = 2147483647

local function wrong_text()
    return redis.error_reply('WRONGTYPE the key holds no number')
end
