--- luv (libuv): coroutines wait for a lock while the loop goes on.   lua luv.lua [URL [NAME]]
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"
local uv = require "luv"

local client = assert(redlatch.connect(arg[1]))
local name = arg[2] or "example"
io.stdout:setvbuf("line")

-- One watcher serves the client. An event resumes the coroutine that has started the call.
local waiting = {}
local watcher = uv.new_poll(assert(client:event_fd()))
watcher:start("r", function(problem)
    assert(not problem, problem)
    local event = client:next_event()
    while event do
        local worker = waiting[event.tag]
        if worker then
            waiting[event.tag] = nil
            local good, message = coroutine.resume(worker, event)
            assert(good, message)
        else
            print("the lock " .. event.name .. " was lost: " .. event.reason)
        end
        event = client:next_event()
    end
end)

-- Takes the results of a start_ function, and returns what the blocking call would return.
local function await(tag, message, code)
    if not tag then
        return nil, message, code
    end
    waiting[tag] = coroutine.running()
    local event = coroutine.yield()
    return event.ok or nil, event.message, event.code
end

local function sleep(milliseconds)
    local worker, timer = coroutine.running(), uv.new_timer()
    timer:start(milliseconds, 0, function()
        timer:close()
        assert(coroutine.resume(worker))
    end)
    coroutine.yield()
end

local working = 0
local ticker = uv.new_timer()

local function work(number)
    working = working + 1
    local lock = client:lock(name, {timeout = 30}) -- one object for each coroutine, since the object is the owner
    print("worker " .. number .. " waits")
    assert(await(lock:start_acquire()))
    print("worker " .. number .. " has the lock")
    sleep(20)
    assert(await(lock:start_release()))
    working = working - 1
    if working == 0 then
        watcher:close()
        ticker:close()
        client:close()
        print("done")
    end
end

for number = 1, 2 do
    assert(coroutine.resume(coroutine.create(work), number))
end
local ticks = 0
ticker:start(5, 5, function()
    ticks = ticks + 1
    if ticks == 10 then
        print("the loop goes on")
    end
end)
uv.run()
