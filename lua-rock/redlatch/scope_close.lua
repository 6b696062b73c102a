--- Scope: the body of Lock:with() in Lua 5.4. Errors are caught as in scope_pcall.lua. A to-be-closed variable releases
-- the hold if the coroutine is closed meanwhile. That variable alone is not enough, because a coroutine that ends by an
-- error does not close its variables.
-- SPDX-License-Identifier: Apache-2.0

-- __close releases the hold, and stores the result of that.
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
