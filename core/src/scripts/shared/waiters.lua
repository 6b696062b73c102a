-- waiters: what scripts of fair locks begin with that may meet a queue of something else (wire format 2.2).
-- SPDX-License-Identifier: Apache-2.0
-- Whether what stands in a queue is a waiter: a client's uuid and a number.
local function is_owner(word)
    return string.find(word, '^%x+%-%x+%-%x+%-%x+%-%x+:%-?%d+$')
end

local function refuse_queue()
    return redis.error_reply('WRONGTYPE the queue holds something else than waiters')
end
