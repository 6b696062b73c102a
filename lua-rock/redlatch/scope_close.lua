--- The body of Lock:with() in Lua 5.4: as in scope_pcall.lua, and a to-be-closed variable releases when a coroutine is
-- closed inside. That alone would not do: a coroutine that dies of an error closes nothing by itself.
-- SPDX-License-Identifier: Apache-2.0

-- Closing it releases the hold, and keeps how that went.
local Guard = {}

function Guard:__close()
    if not self.held._released then
        self.released, self.message, self.code = self.held:release()
    end
end

local function run(guard, body)
    local closing <close> = guard -- luacheck: ignore 211
    return pcall(body, guard.held)
end

local function finish(guard, good, first, ...)
    if not good then
        error(first, 0)
    end
    if not guard.released then
        return false, guard.message, guard.code
    end
    return true, first, ...
end

return function(held, body)
    local guard = setmetatable({held = held, released = true}, Guard)
    return finish(guard, run(guard, body))
end
