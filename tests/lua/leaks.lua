--- Scenes: cycles by the thousand, after which the process is no bigger than it was.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local redlatch = require "redlatch"
local stage = require "stage"

local same = stage.same
local scenes = {}

-- What Lua itself may keep, and what the process may: blocks of the allocator that come and go.
local LUA_KILOBYTES, PROCESS_KILOBYTES = 64, 768
-- A client opens a connection for messages or for more callers when it sees fit, and closes it again.
local DESCRIPTORS = 4

local function process_kilobytes()
    local status = assert(io.open("/proc/self/status"))
    local size = tonumber(status:read("*a"):match("VmRSS:%s*(%d+)"))
    status:close()
    return size
end

local function descriptors()
    local listing = assert(io.popen("ls /proc/$PPID/fd"))
    local _, count = listing:read("*a"):gsub("\n", "\n")
    listing:close()
    return count
end

-- Runs a tenth of the cycles to grow what grows once, and then all of them.
local function measure(cycles, cycle)
    for number = 1, cycles / 10 do
        cycle(number)
    end
    stage.collect()
    local lua, process, open = collectgarbage("count"), process_kilobytes(), descriptors()
    for number = 1, cycles do
        cycle(number)
    end
    stage.collect()
    stage.between(-1e9, collectgarbage("count") - lua, LUA_KILOBYTES, "growth of Lua's memory in KB")
    stage.between(-1e9, process_kilobytes() - process, PROCESS_KILOBYTES, "growth of the process in KB")
    stage.between(-DESCRIPTORS, descriptors() - open, DESCRIPTORS, "new descriptors")
end

function scenes.cycles(url, name)
    local client = assert(redlatch.connect(url))
    measure(100000, function(number)
        local lock = client:lock(name .. number % 10, number % 2 == 0 and {owner = {}} or nil)
        assert(lock:acquire())
        if number % 4 == 0 then
            assert(lock:held():release())
        else
            assert(lock:release())
        end
    end)
    same(client:stats().held, 0)
end

-- What goes wrong on the way: error replies, misuse, errors inside `with`, objects that are dropped while they hold.
function scenes.failures(url, name)
    local client, other = assert(redlatch.connect(url)), assert(redlatch.connect(url))
    local theirs = other:lock(name)
    assert(theirs:acquire())
    local function raise()
        error("inside")
    end
    local long = ("x"):rep(1000)
    measure(10000, function(number)
        local lock = client:lock(name)
        stage.fails("timeout", lock:try_acquire())
        stage.fails("not_owned", lock:release())
        pcall(client.lock, client, name, {nonsense = number})
        local twice = core.client_options()
        for _, field in ipairs {"password", "username", "name_prefix"} do
            twice[field] = long
            twice[field] = long
        end
        core.lock_options().key_template = long
        pcall(redlatch.connect, url, {password = 7, name_prefix = "prefix"})
        local mine = client:lock(name .. ":mine" .. number)
        pcall(mine.with, mine, raise)
        assert(mine:acquire())
        client:stats()
    end)
    assert(theirs:release())
end

function scenes.clients(url, name)
    -- The core keeps the last 256 handles that were freed: the tenth that comes first fills that.
    measure(3000, function(number)
        local client = assert(redlatch.connect(url, {name_prefix = name, username = "default", password = ""}))
        assert(client:lock("x"):acquire())
        assert(client:event_fd())
        client:close()
        if number % 10 == 0 then
            stage.collect() -- to Lua a client is a few bytes: nothing would urge it to collect one
        end
    end)
end

function scenes.events(url, name)
    local client = assert(redlatch.connect(url))
    local lock = client:lock(name)
    assert(client:event_fd())
    local function finish(tag)
        local event
        repeat
            event = client:next_event()
        until event
        assert(event.ok and event.tag == tag, event.message)
    end
    measure(10000, function()
        finish(assert(lock:start_acquire()))
        finish(assert(lock:start_release()))
    end)
end

-- Semaphores, permits and latches, taken, refused, dropped and started.
function scenes.counts(url, name)
    local client = assert(redlatch.connect(url))
    assert(client:event_fd() and client:semaphore(name):try_set_permits(1))
    assert(client:permit_semaphore(name .. ":p"):try_set_permits(2))
    measure(10000, function(number)
        local semaphore, permits = client:semaphore(name), client:permit_semaphore(name .. ":p")
        assert(semaphore:acquire())
        stage.fails("timeout", semaphore:try_acquire())
        pcall(semaphore.acquire, semaphore, {nonsense = number})
        local tag, event = assert(semaphore:start_release()), nil
        repeat
            event = client:next_event()
        until event
        assert(event.tag == tag and event.ok, event.message)
        for _, permit in ipairs(assert(permits:acquire_many(2))) do
            assert(permit:release())
        end
        stage.fails("not_owned", permits:release(("0"):rep(32)))
        assert(client:latch(name .. ":l"):wait())
    end)
    assert(client:semaphore(name):delete() and client:permit_semaphore(name .. ":p"):delete())
end

stage.play(scenes)
