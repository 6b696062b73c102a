-- The same as tests/e2e/programs/quiet_client.c, in Lua: `idle`, `holds` and `waits`.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"

local url, name, mode = arg[1], arg[2], arg[3]

local function say_ready()
    print("ready")
    io.stdout:flush()
end

local client = assert(redlatch.connect(url))
local lock = client:lock(name)
if mode == "waits" then
    say_ready()
end
assert(lock:acquire())
if mode == "idle" then
    assert(lock:release())
end
say_ready()
io.read()
