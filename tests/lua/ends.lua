--- Scenes: however an acquire, a coroutine, an object or the program ends, no lock is left behind.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"
local stage = require "stage"

local same, check, fails = stage.same, stage.check, stage.fails
local scenes = {}

-- Lua 5.1 itself, not LuaJIT, cannot yield inside pcall.
local YIELDS = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

-- Somebody else gets the lock soon, by a message and not because a lease ran out.
local function soon_free(url, name)
    local client = assert(redlatch.connect(url))
    local lock = client:lock(name, {timeout = 8})
    same(lock:acquire(), true, "another client's acquire")
    same(lock:release(), true)
    client:close()
end

-- A function of its own, whose variables are gone when it has returned.
local function hold_and_forget(url, name)
    local client = assert(redlatch.connect(url))
    local lock = client:lock(name)
    local held = assert(lock:acquire_hold())
    local more = client:lock(name .. ":more")
    check(more:acquire() and held:remaining() > 0, "held")
end

function scenes.collected_together(url, name)
    for _ = 1, 20 do
        hold_and_forget(url, name)
        stage.collect()
    end
    soon_free(url, name)
    soon_free(url, name .. ":more")
end

function scenes.collected_lock(url, name)
    local client = assert(redlatch.connect(url))
    assert(client:lock(name):acquire())
    stage.collect()
    soon_free(url, name)
    same(assert(client:stats()).held, 0)
end

function scenes.lock_keeps_client(url, name)
    local lock = assert(redlatch.connect(url)):lock(name)
    stage.collect()
    local held = assert(lock:acquire_hold())
    lock = nil
    stage.collect()
    check(held:remaining() > 0, "held as long as the hold is used")
    same(held:release(), true)
end

-- What lives until the program ends.
local kept

function scenes.program_ends(url, name)
    local client = assert(redlatch.connect(url))
    kept = {client, client:lock(name), client:lock(name .. ":2", {owner = {}}), client:lock(name)}
    assert(kept[2]:acquire() and kept[3]:acquire() and kept[4]:start_acquire())
end

function scenes.program_fails(url, name)
    scenes.program_ends(url, name)
    error("on purpose")
end

function scenes.program_exits(url, name)
    scenes.program_ends(url, name)
    stage.tell("done")
    if _VERSION ~= "Lua 5.1" or rawget(_G, "jit") then
        os.exit(0, true) -- Lua 5.1 itself cannot close the state by this, and ends in the usual way
    end
end

function scenes.coroutines_share_an_object(url, name)
    local client = assert(redlatch.connect(url))
    local lock = client:lock(name)
    assert(lock:acquire())
    local good, entered = coroutine.resume(coroutine.create(function() return lock:try_acquire() end))
    check(good and entered, "the owner is the object, whichever coroutine uses it")
    same(lock:hold_count(), 2)
    assert(lock:release() and lock:release())
end

function scenes.coroutines_exclude(url, name)
    local client = assert(redlatch.connect(url))
    local function worker()
        local lock = client:lock(name, {timeout = 0})
        local done, _, code = lock:acquire()
        coroutine.yield(done or code)
        return done and lock:release()
    end
    local first, second = coroutine.create(worker), coroutine.create(worker)
    same(select(2, coroutine.resume(first)), true)
    same(select(2, coroutine.resume(second)), "timeout")
    same(select(2, coroutine.resume(first)), true)
    same(select(2, coroutine.resume(second)), nil)
end

function scenes.explicit_owners(url, name)
    local client = assert(redlatch.connect(url))
    local owner, other = {}, coroutine.create(function() end)
    local one, two = client:lock(name, {owner = owner}), client:lock(name, {owner = owner})
    local stranger = client:lock(name, {owner = other, timeout = 0})
    assert(one:acquire() and two:acquire())
    same(one:hold_count(), 2)
    fails("timeout", stranger:acquire())
    fails("not_owned", stranger:release())
    same(client:lock(name .. ":2", {owner = owner}):hold_count(), 0, "of another name")
    assert(two:release())
    one = nil
    stage.collect()
    fails("timeout", stranger:acquire())
    same(two:hold_count(), 1, "held as long as one of them is used")
    for setting, value in pairs {max_hold = 5, reentrant = false} do
        stage.raises(setting .. " differs", client.lock, client, name, {owner = owner, [setting] = value})
    end
    stage.raises("reentrant is 1, a number", client.lock, client, name, {owner = owner, reentrant = 1})
    same(client:lock(name, {owner = owner, max_hold = -1, reentrant = true, timeout = 0}):hold_count(), 1)
    local spinning = client:spin_lock(name .. ":spin", {owner = owner, back_off_max = 1})
    stage.raises("back_off_max differs", client.spin_lock, client, spinning:name(), {owner = owner})
    local write = client:read_write_lock(name .. ":pair", {owner = owner}).write
    stage.raises("max_hold differs", client.read_write_lock, client, write:name(), {owner = owner, max_hold = 5})
    two = nil
    stage.collect()
    same(stranger:acquire {timeout = 8}, true, "released with the last of them")
    same(stranger:release(), true)
end

-- The program goes on between the moment when an object is found to be garbage and its finaliser. In the second round
-- the other lock of the pair is kept.
function scenes.acquires_before_the_old_handle_is_finalised(url, name)
    local client, owner, reader = assert(redlatch.connect(url)), {}, nil
    local found = setmetatable({}, {__mode = "v"})
    local function pair()
        return client:read_write_lock(name, {owner = owner})
    end
    local function use(mode)
        found.lock = pair()[mode]
        assert(found.lock:acquire() and found.lock:release())
    end
    pcall(collectgarbage, "incremental", 100, 1) -- Lua 5.4 itself is generational, and runs all finalisers in one step
    for _, mode in ipairs {"read", "write"} do
        collectgarbage("stop")
        use(mode)
        for _ = 1, 100 do
            client:lock(name) -- garbage whose finalisers run first
        end
        repeat
            collectgarbage("step", 0)
        until not found.lock
        local lock = pair()[mode]
        assert(lock:acquire())
        collectgarbage("restart")
        stage.collect()
        same(lock:release(), true, "a release of what is still held")
        reader = reader or pair().read
    end
    same(reader:hold_count(), 0)
end

function scenes.dropped_coroutine(url, name)
    local client = assert(redlatch.connect(url))
    local worker = coroutine.create(function()
        local lock = client:lock(name)
        assert(lock:acquire())
        coroutine.yield("held")
        assert(lock:release())
    end)
    same(select(2, coroutine.resume(worker)), "held")
    worker = nil
    stage.collect()
    soon_free(url, name)
end

function scenes.yields_inside_with(url, name)
    local client = assert(redlatch.connect(url))
    local lock = client:lock(name)
    local worker = coroutine.create(function()
        return lock:with(function() return coroutine.yield("inside") end)
    end)
    local good, yielded = coroutine.resume(worker)
    if YIELDS then
        same(yielded, "inside")
        same(lock:state().locked, true)
        local done, result
        good, done, result = coroutine.resume(worker, "result")
        same(good and done, true)
        same(result, "result")
    else
        same(good, false)
        check(yielded:find("attempt to yield", 1, true), "the interpreter's own error: " .. yielded)
    end
    same(lock:state().locked, false)
end

function scenes.error_in_coroutine(url, name)
    local client = assert(redlatch.connect(url))
    local lock = client:lock(name)
    local worker = coroutine.create(function()
        lock:with(function()
            if YIELDS then
                coroutine.yield()
            end
            error("inside", 0)
        end)
    end)
    if YIELDS then
        assert(coroutine.resume(worker))
        same(lock:state().locked, true)
    end
    local good, message = coroutine.resume(worker)
    same(good, false)
    same(message, "inside")
    same(lock:state().locked, false)
end

function scenes.nested_with(url, name)
    local client = assert(redlatch.connect(url))
    local lock, inner = client:lock(name), client:lock(name .. ":inner")
    stage.raises("deep", function()
        lock:with(function()
            inner:with(function()
                lock:with(function(held)
                    same(held:count(), 2)
                    error("deep", 0)
                end)
            end)
        end)
    end)
    same(lock:state().locked or inner:state().locked, false)
end

function scenes.to_be_closed(url, name)
    if _VERSION ~= "Lua 5.4" then
        return -- there the syntax does not exist; acquire_hold() and release() are tested in basics.lua
    end
    local client = assert(redlatch.connect(url))
    local lock = client:lock(name)
    -- Compiled here, as the other interpreters must be able to read this file.
    local run = assert(load([[
        local lock, body = ...
        local held <close> = assert(lock:acquire_hold())
        return body(held)
    ]]))
    same(run(lock, function(held) return held:count() end), 1)
    same(lock:state().locked, false)
    stage.raises("inside", run, lock, function() error("inside") end)
    same(lock:state().locked, false)
    same(run(lock, function(held) return held:release() end), true)
    stage.raises("lost", run, lock, function() lock:force_release() end)
    stage.raises("first", run, lock, function() lock:force_release() error("first") end)
    for _, enter in ipairs {run, function(_, body) return lock:with(body) end} do
        local worker = coroutine.create(enter)
        assert(coroutine.resume(worker, lock, coroutine.yield))
        same(lock:state().locked, true)
        same(coroutine.close(worker), true)
        same(lock:state().locked, false, "closing a coroutine releases")
    end
    assert(load("local held <close> = (...):acquire_hold {timeout = 0}"))(lock)
    same(lock:state().locked, false)
end

function scenes.waits(url, name)
    local client = assert(redlatch.connect(url))
    local lock = client:lock(name)
    stage.tell("waiting")
    same(lock:acquire(), true)
    same(lock:release(), true)
end

function scenes.waits_without_taking(url, name)
    local client = assert(redlatch.connect(url))
    stage.tell("waiting")
    same(client:wait_free(name), true)
    same(client:lock(name):state().locked, false)
end

function scenes.waits_in_coroutine(url, name)
    coroutine.wrap(scenes.waits)(url, name)
end

stage.play(scenes)
