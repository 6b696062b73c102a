--- One process of the counter race, in Lua. Arguments and behaviour are those of demo_counter.c. Lua has no threads, so
-- this process makes the additions of all threads one after the other.
--
--   lua counter.lua URL FILE THREADS ADDITIONS locked|unlocked
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"

local url, path, threads, additions, mode = (table.unpack or unpack)(arg)
local file = assert(io.open(path, "r+"))
file:setvbuf("no")
local client = assert(redlatch.connect(url))
local lock = client:lock("counter")

-- Guarded by the lock: read, work, write.
local function add_one()
    file:seek("set", 0)
    local value = assert(file:read(10))
    for _ = 1, 2000 do
        value = value + 0
    end
    file:seek("set", 0)
    assert(file:write(("%010d\n"):format(value + 1)))
end

print("ready")
io.stdout:flush()
io.stdin:read("*l")
for _ = 1, threads * additions do
    if mode == "locked" then
        assert(lock:with(add_one))
    else
        add_one()
    end
end
print(assert(client:stats()).hand_overs)
