-- clock: the server's time, read when it is first needed.
-- SPDX-License-Identifier: Apache-2.0
local clock

-- Returns ms, the same value in the whole script.
local function server_time()
    if not clock then
        local time = redis.call('time')
        clock = time[1] * 1000 + math.floor(time[2] / 1000)
    end
    return clock
end
