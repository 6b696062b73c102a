-- waiters: for scripts of fair locks that may find a queue of something else, whose elements are no owner ids (wire
-- format 2.2).
-- Begins with shared/owner.lua.
-- SPDX-License-Identifier: Apache-2.0
local function wrong_queue()
    return redis.error_reply('WRONGTYPE the queue holds something else than waiters')
end
