-- count: for scripts that work with a number in a string, such as those of semaphores and latches.
-- SPDX-License-Identifier: Apache-2.0
-- Returns whether a text is an integer that Redis and Lua both represent exactly.
local function is_count(text)
    return string.find(text, '^%-?%d+$') and string.format('%.0f', tonumber(text)) == text
end

-- The largest number of permits in all, as Redisson's (a Java int). A script that would add more returns -1.
local PERMITS_MAX = 2147483647

local function wrong_text()
    return redis.error_reply('WRONGTYPE the key holds no number')
end
