--- The body of Lock:with() in Lua 5.4: a to-be-closed variable releases, also when a coroutine is closed inside.
-- SPDX-License-Identifier: Apache-2.0

-- Closing it releases the hold, and keeps how that went.
local Guard = {}

function Guard:__close()
    local held = self.held
    if not held._released then
        self.released, self.message, self.code = held:release()
    end
end

local function run(held, body, guard)
    local closing <close> = guard -- luacheck: ignore
    return body(held)
end

local function finish(guard, ...)
    if not guard.released then
        return nil, guard.message, guard.code
    end
    return true, ...
end

return function(held, body)
    local guard = setmetatable({held = held, released = true}, Guard)
    return finish(guard, run(held, body, guard))
end
