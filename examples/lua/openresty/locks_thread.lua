--- Runs on a thread of its own in nginx, in a Lua state that is kept for later calls. It may block.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"

local threads = {}
local client

--- Waits for the lock and works under it.
function threads.wait(name)
    client = client or assert(redlatch.connect())
    local done, _, code = client:lock(name, {timeout = 10}):with(function(held)
        return held:remaining()
    end)
    return done and "worked" or code
end

return threads
