--- Scenes: started calls and their events, without any event loop.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"
local stage = require "stage"

local same, check, fails = stage.same, stage.check, stage.fails
local scenes = {}

local WAIT = 10

-- The next event, within a time that is generous.
local function next_event(client)
    local ends = os.time() + WAIT
    while os.time() <= ends do
        local event, message = client:next_event()
        if event then
            return event
        end
        same(message, nil, "no event is no failure")
        os.execute("sleep 0.005")
    end
    error("no event within " .. WAIT .. " s", 2)
end

local function expect(client, kind, tag, lock, code)
    local event = next_event(client)
    same(event.kind, kind, "kind")
    same(event.tag, tag, "tag")
    same(event.lock, lock, "lock")
    same(event.code, code, "code")
    same(event.ok, code == nil, "ok")
    same(type(event.message), code and "string" or "nil", "type of the message")
    return event
end

function scenes.acquire_and_release(url, name)
    local client = assert(redlatch.connect(url))
    local lock = client:lock(name)
    same(client:next_event(), false)
    check(assert(client:event_fd()) > 2, "a descriptor")
    same(client:event_fd(), client:event_fd())
    local tag = assert(lock:start_acquire {lease = 20})
    local event = expect(client, "acquired", tag, lock)
    same(event.name, name)
    local held = check(lock:held(), "held")
    same(event.serial, held:serial())
    same(lock:hold_count(), 1)
    stage.between(15, held:remaining(), 20)
    expect(client, "extended", assert(lock:start_extend(5)), lock)
    stage.between(1, held:remaining(), 5)
    expect(client, "acquired", assert(lock:start_acquire()), lock)
    same(lock:hold_count(), 2, "and again by the same owner")
    same(lock:release(), true, "blocking calls and started ones may be mixed")
    expect(client, "released", assert(lock:start_release()), lock)
    same(lock:locked(), false)
    expect(client, "released", assert(lock:start_release()), lock, "not_owned")
    same(client:next_event(), false)
end

function scenes.waits_end(url, name)
    local client, other = assert(redlatch.connect(url)), assert(redlatch.connect(url))
    local theirs, lock, patient = other:lock(name), client:lock(name, {timeout = 0.1}), client:lock(name)
    assert(theirs:acquire())
    expect(client, "acquired", assert(lock:start_acquire()), lock, "timeout")
    expect(client, "acquired", assert(lock:start_acquire {timeout = 0}), lock, "timeout")
    local tag = assert(patient:start_acquire())
    same(client:cancel(tag), true)
    expect(client, "acquired", tag, patient, "cancelled")
    stage.raises("whose event is still to come", client.cancel, client, tag)
    local first, second = assert(lock:start_acquire {timeout = 20}), assert(patient:start_acquire())
    same(client:next_event(), false)
    assert(theirs:release())
    expect(client, "acquired", first, lock)
    assert(lock:release())
    expect(client, "acquired", second, patient)
    assert(patient:release())
end

function scenes.losses(url, name)
    local client, other = assert(redlatch.connect(url, {watchdog_lease = 0.3})), assert(redlatch.connect(url))
    assert(client:event_fd())
    local lock = client:lock(name)
    local held = assert(lock:hold())
    assert(other:lock(name):force_release())
    local event = next_event(client)
    same(event.kind, "lost")
    same(event.reason, "missing")
    same(event.serial, held:serial())
    same(event.name, name)
    same(event.tag, nil)
    same(event.code, "lost")
    same(held:lost(), true)
    fails("lost", lock:release())
    local short = client:lock(name, {lease = 0.05})
    held = assert(short:hold())
    event = next_event(client)
    same(event.reason, "expired")
    same(event.serial, held:serial())
end

-- A started acquire keeps its lock object, which would otherwise take the grant with it into its grave.
function scenes.forgotten_object(url, name)
    local client = assert(redlatch.connect(url))
    local tag = assert(client:lock(name):start_acquire())
    stage.collect()
    local event = next_event(client)
    same(event.tag, tag)
    same(event.lock:hold_count(), 1)
    event = nil
    stage.collect()
    local other = assert(redlatch.connect(url)):lock(name, {timeout = 8})
    same(other:acquire(), true, "released with its object")
    assert(other:release())
end

-- A name longer than an event has room for, with a NUL, prefix included.
function scenes.names(url, name)
    local client = assert(redlatch.connect(url, {name_prefix = "p\0"}))
    local long = name .. ("x"):rep(300) .. "\0"
    local lock = client:lock(long)
    local event = expect(client, "acquired", assert(lock:start_acquire()), lock)
    same(event.name, ("p\0" .. long):sub(1, 255))
    assert(lock:release())
    local short = client:lock("\0" .. name)
    event = expect(client, "acquired", assert(short:start_acquire()), short)
    same(event.name, "p\0\0" .. name)
    assert(short:release())
end

stage.play(scenes)
