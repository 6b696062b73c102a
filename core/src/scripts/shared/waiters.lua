-- waiters: what scripts of fair locks begin with that may meet a queue of something else (wire format 2.2), in which
-- not each is an owner.
-- Begins with shared/owner.lua.
-- SPDX-License-Identifier: Apache-2.0
local function wrong_queue()
    return redis.error_reply('WRONGTYPE the queue holds something else than waiters')
end
