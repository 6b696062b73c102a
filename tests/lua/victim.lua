-- The same as tests/e2e/programs/victim.c, in Lua.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"

local url, name = arg[1], arg[2]

local function say(call, value, _, code)
    print(call .. ": " .. tostring(value or code))
    return value
end

local function take(call, lock, timeout)
    if say(call, lock:acquire {timeout = timeout}) then
        say("release", lock:release())
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

local client, _, code = redlatch.connect(url)
print("connect: " .. tostring(code or "ok"))
if client then
    take("mutex", client:lock(name), 0.5)
    take("mutex", client:lock(name .. ":free"), 0)
    say("inspect", client:inspect(name))
    print("scan: " .. tostring(select(2, pcall(count, client))))
    say("wait_free", client:wait_free(name, {timeout = 0.5}))
    take("fair", client:fair_lock(name .. ":free"), 0.5)
    say("semaphore", client:semaphore(name .. ":free"):acquire {timeout = 0.5})
    client:close()
end
print("done")
