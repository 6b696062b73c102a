-- The same as tests/e2e/programs/victim.c, in Lua.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"

local url, name = arg[1], arg[2]

-- Seconds, to a hundredth.
local function now()
    local file = assert(io.open("/proc/uptime"))
    local uptime = tonumber(file:read("*l"):match("^[%d.]+"))
    file:close()
    return uptime
end

local function say(call, began, value, _, code)
    print(("%s: %s after %.2f s"):format(call, tostring(value or code), now() - began))
    return value
end

local function take(call, lock, timeout)
    if say(call, now(), lock:acquire {timeout = timeout}) then
        say("release", now(), lock:release())
    end
end

local function count(client)
    local found = 0
    for _ in client:scan() do
        found = found + 1
        if found == 1000 then
            break
        end
    end
    return found
end

local client = say("connect", now(), redlatch.connect(url))
if client then
    take("mutex", client:lock(name), 0.5)
    take("try", client:lock(name .. ":free"), 0)
    say("inspect", now(), client:inspect(name))
    say("scan", now(), select(2, pcall(count, client)))
    say("wait_free", now(), client:wait_free(name, {timeout = 0.5}))
    take("fair", client:fair_lock(name .. ":free"), 0.5)
    say("semaphore", now(), client:semaphore(name .. ":free"):acquire {timeout = 0.5})
    say("close", now(), client:close())
end
print("done")
