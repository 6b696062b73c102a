--- Scenes: started calls and their events, without any event loop.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"
local stage = require "stage"

local same, check, fails = stage.same, stage.check, stage.fails
local scenes = {}

local function next_event(client)
    return stage.next_event(client, "sleep 0.005")
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
    same(lock:state().locked, false)
    expect(client, "released", assert(lock:start_release()), lock, "not_owned")
    same(client:next_event(), false)
end

function scenes.waits_end(url, name)
    local client, other = assert(redlatch.connect(url)), assert(redlatch.connect(url))
    local theirs, lock, patient = other:lock(name), client:lock(name, {timeout = 0.3}), client:lock(name)
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
    local client, other = assert(redlatch.connect(url, {watchdog_lease = 1.2})), assert(redlatch.connect(url))
    assert(client:event_fd())
    local lock = client:lock(name)
    local held = assert(lock:acquire_hold())
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
    local short = client:lock(name, {lease = 0.4})
    held = assert(short:acquire_hold())
    event = next_event(client)
    same(event.reason, "expired")
    same(event.serial, held:serial())
end

-- The test halts the server until more than half of the lease is over.
function scenes.late_renewal(url, name)
    local client = assert(redlatch.connect(url, {watchdog_lease = 3}))
    assert(client:event_fd())
    local lock = client:lock(name)
    local held = assert(lock:acquire_hold())
    stage.tell("held")
    local event = next_event(client)
    same(event.kind, "renewed_late")
    same(event.ok, true)
    same(event.serial, held:serial())
    same(event.name, name)
    same(event.tag, nil)
    stage.between(1.5, event.after, 3)
    same(held:lost(), false)
    assert(lock:release())
end

-- Nobody asked for losses before: the answer to a started call is the first to tell.
function scenes.answers_tell_of_losses(url, name)
    local client, other = assert(redlatch.connect(url)), assert(redlatch.connect(url))
    local lock, lease = client:lock(name), client:lock(name .. ":lease")
    local released, extended = assert(lock:acquire_hold()), assert(lease:acquire_hold())
    assert(other:lock(name):force_release() and other:lock(name .. ":lease"):force_release())
    local tag = assert(lock:start_release())
    local event = expect(client, "released", tag, lock, "lost")
    same(event.serial, released:serial())
    same(released:lost(), true)
    same(select(2, released:lost()), "missing")
    expect(client, "extended", assert(lease:start_extend(5)), lease, "lost")
    expect(client, "extended", assert(lease:start_extend(5)), lease, "lost")
    fails("lost", lease:release())
    same(extended:lost(), true)
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

-- All digits of a number that is an integer, a float or a string of digits.
local function digits(value)
    return type(value) == "number" and not math.type and ("%.0f"):format(value) or tostring(value)
end

-- A finaliser may start a call whenever memory is allocated, also while another call is being started.
function scenes.tags_of_nested_starts(_, _)
    local core, started = require "redlatch.core", require "redlatch.started"
    local client, what = {_last_tag = 0, _started = {}}, {object = {}}
    local inner
    local outer = started.begin(client, what, function()
        inner = started.begin(client, what, function() return core.OK end)
        return core.OK
    end)
    check(inner ~= outer, "two tags")
    check(client._started[inner] and client._started[outer], "two calls")
end

-- Numbers of 64 bits come through exactly, in every Lua: below the wrapper, which makes none so large by itself.
function scenes.large_numbers(url, name)
    local core = require "redlatch.core"
    local handle = select(2, core.client_open(url, core.client_options()))
    local lock = select(2, core.lock_new(handle, core.MUTEX, name, core.lock_options()))
    local owner = select(2, core.owner_new())
    for _, tag in ipairs {"1", "9007199254740992", "9007199254740993", "9223372036854775807", "18446744073709551615"} do
        same(core.lock_start_acquire(lock, owner, core.RENEWED, 0, tag), core.OK)
        local status, event
        repeat
            status, event = core.client_next_event(handle)
        until status ~= core.AGAIN
        same(status, core.OK)
        same(event.status, core.OK)
        same(event.owner, owner)
        same(digits(event.tag), tag)
        same(core.lock_release_as(lock, string.format("%.0f", owner)), core.OK)
    end
    for _, wrong in ipairs {-1, 1.5, 2 ^ 60, 0 / 0, "", "1x", "-1", "18446744073709551616", true, {}} do
        stage.raises("expected 'uint64_t'", core.lock_release_as, lock, wrong)
    end
    for _, wrong in ipairs {1.5, 2 ^ 60, 1 / 0, "7"} do
        stage.raises("expected 'int64_t'", core.lock_extend, lock, 1, wrong)
    end
    for _, wrong in ipairs {2 ^ 31, -2 ^ 31 - 1, 0.5} do
        stage.raises("expected 'int'", core.strerror, wrong)
    end
    same(core.lock_extend(lock, owner, 1000), core.NOT_OWNED)
    for _, made_up in ipairs {7, "18446744073709551615"} do
        local status, message = core.lock_extend(lock, made_up, 1000)
        same(status, core.INVALID)
        check(message:find("owner is " .. made_up, 1, true), message)
    end
    if math.type then
        local integer = math.tointeger(2 ^ 53) + 1
        same(core.lock_start_acquire(lock, owner, core.RENEWED, 0, integer), core.OK)
        local status, event
        repeat
            status, event = core.client_next_event(handle)
        until status ~= core.AGAIN
        same(event.tag, integer)
        same(math.type(event.tag), "integer")
        same(core.lock_release_as(lock, owner), core.OK)
    end
end

stage.play(scenes)
