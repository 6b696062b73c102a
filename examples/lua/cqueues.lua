--- cqueues: coroutines wait for a lock while the others go on.   lua cqueues.lua [URL [NAME]]
-- SPDX-License-Identifier: Apache-2.0

local condition = require "cqueues.condition"
local cqueues = require "cqueues"
local redlatch = require "redlatch"

local client = assert(redlatch.connect(arg[1]))
local name = arg[2] or "example"
local queue = cqueues.new()
io.stdout:setvbuf("line")

-- One coroutine collects the client's events and wakes the coroutines that have started the calls.
local waiting = {}
local working, all_done = 2, condition.new()
queue:wrap(function()
    local readable = {pollfd = assert(client:event_fd()), events = "r"}
    while working > 0 do
        cqueues.poll(readable, all_done)
        local event = client:next_event()
        while event do
            local wait = waiting[event.tag]
            if wait then
                waiting[event.tag] = nil
                wait.event = event
                wait.done:signal()
            else
                print("the lock " .. event.name .. " was lost: " .. event.reason)
            end
            event = client:next_event()
        end
    end
    cqueues.cancel(readable.pollfd) -- cqueues must forget a descriptor before it is closed
    client:close()
    print("done")
end)

-- Takes the results of a start_ function, and returns what the blocking call would return.
local function await(tag, message, code)
    if not tag then
        return nil, message, code
    end
    local wait = {done = condition.new()}
    waiting[tag] = wait
    while not wait.event do
        wait.done:wait()
    end
    return wait.event.ok or nil, wait.event.message, wait.event.code
end

for number = 1, working do
    queue:wrap(function()
        local lock = client:lock(name, {timeout = 30}) -- one object for each coroutine, since the object is the owner
        print("worker " .. number .. " waits")
        assert(await(lock:start_acquire()))
        print("worker " .. number .. " has the lock")
        cqueues.sleep(0.02)
        assert(await(lock:start_release()))
        working = working - 1
        all_done:signal()
    end)
end

queue:wrap(function()
    for _ = 1, 10 do
        cqueues.sleep(0.005)
    end
    print("the loop goes on")
end)

assert(queue:loop())
