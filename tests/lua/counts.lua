--- Scenes: semaphores, permit semaphores and latches: what they answer, what is raised, how their waits end.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"
local stage = require "stage"

local same, check, fails, raises = stage.same, stage.check, stage.fails, stage.raises
local scenes = {}

function scenes.semaphore(url, name)
    local client = assert(redlatch.connect(url))
    local semaphore = client:semaphore(name)
    same(semaphore:available(), 0)
    same(semaphore:release_if_exists(), false)
    same(semaphore:delete(), false)
    fails("timeout", semaphore:try_acquire())
    same(semaphore:try_set_permits(3), true)
    same(semaphore:try_set_permits(9), false)
    same(semaphore:acquire(), true)
    same(semaphore:acquire {permits = 2, timeout = 5}, true)
    same(semaphore:available(), 0)
    local message = fails("timeout", semaphore:acquire {timeout = 0.3})
    check(message:find(name, 1, true), "it tells the name: " .. message)
    check(message:find("too few permits during the wait of 0.3 s", 1, true), "it tells what there was not: " .. message)
    fails("timeout", semaphore:try_acquire {permits = 2})
    same(semaphore:try_acquire {permits = 0}, true)
    same(semaphore:release(), true)
    same(semaphore:release(2), true)
    same(semaphore:release_if_exists(2), true)
    same(semaphore:available(), 5)
    same(semaphore:add_permits(-7), true)
    same(semaphore:available(), -2)
    same(semaphore:drain(), -2)
    same(semaphore:release(4), true)
    same(semaphore:drain(), 4)
    same(semaphore:drain(), 0)
    same(math.type and math.type(semaphore:drain()) or "integer", "integer")
    same(semaphore:delete(), true)
    same(semaphore:try_set_permits(1, {ttl = 30}), true)
    stage.between(15, client:inspect(name).ttl, 30, "ttl")
    same(semaphore:name(), name)
    same(tostring(semaphore), ("redlatch.Semaphore %q"):format(name))
    same(semaphore:delete(), true)
end

function scenes.semaphore_with(url, name)
    local client = assert(redlatch.connect(url))
    local semaphore = client:semaphore(name)
    same(semaphore:try_set_permits(3), true)
    local results = {semaphore:with(function(...)
        same(select("#", ...), 0)
        same(semaphore:available(), 1)
        return nil, "second"
    end, {permits = 2})}
    same(results[1], true)
    same(results[3], "second")
    same(semaphore:available(), 3)
    local raised = {}
    local good, message = pcall(semaphore.with, semaphore, function() error(raised) end)
    same(good, false)
    same(message, raised, "the error comes through untouched")
    same(semaphore:available(), 3)
    fails("timeout", semaphore:with(error, {permits = 4, timeout = 0}))
    same(semaphore:delete(), true)
end

function scenes.permits(url, name)
    local client, other = assert(redlatch.connect(url)), assert(redlatch.connect(url))
    local permits = client:permit_semaphore(name)
    fails("timeout", permits:try_acquire())
    same(permits:delete(), false)
    same(permits:try_set_permits(3), true)
    same(permits:try_set_permits(9), false)
    local permit = assert(permits:acquire {timeout = 5, lease = 60})
    check(#permit:id() == 32 and permit:id():match("^%x+$"), "an id: " .. permit:id())
    stage.between(50, permit:remaining(), 60, "remaining")
    stage.between(50, permits:lease_of(permit), 60, "lease")
    same(permit:extend(5), true)
    stage.between(1, permits:lease_of(permit:id()), 5, "lease after extend")
    same(permits:extend(permit, 20), true)
    stage.between(10, permit:remaining(), 20, "remaining")
    local list = assert(permits:acquire_many(2))
    same(#list, 2)
    check(list[1]:id() ~= list[2]:id(), "ids of their own")
    stage.between(15, list[2]:remaining(), 30, "of a permit that is renewed")
    fails("timeout", permits:try_acquire())
    fails("timeout", permits:acquire_many(2, {timeout = 0.3}))
    same(permits:available(), 0)
    same(permits:acquired(), 3)
    same(permits:permits(), 3)
    same(other:permit_semaphore(name):release(list[1]:id()), true, "whoever knows the id may give it back")
    same(permits:release(list[2]), true)
    fails("not_owned", list[2]:release())
    fails("not_owned", list[2]:extend(5))
    fails("not_owned", permits:release(list[2]))
    local unknown = ("0"):rep(32)
    for verb, call in pairs {release = permits.release, extend = permits.extend} do
        local message = fails("not_owned", call(permits, unknown, 5))
        check(message:find(verb .. " permit " .. unknown .. ' of "', 1, true), "it tells of the permit: " .. message)
        check(message:find("there is no such permit", 1, true), "and that there is none: " .. message)
    end
    same(permits:lease_of(list[2]), 0)
    same(permit:lost(), false)
    same(permit:release(), true)
    same(permit:remaining(), 0)
    same(permit:lost(), false)
    same(permits:set_permits(2), true)
    same(permits:add_permits(-3), true)
    same(permits:available(), -1)
    same(permits:delete(), true)
    same(tostring(permits), ("redlatch.PermitSemaphore %q"):format(name))
    same(tostring(permit), ("redlatch.Permit %s of %q"):format(permit:id(), name))
end

function scenes.permits_lost(url, name)
    local client = assert(redlatch.connect(url))
    local permits = client:permit_semaphore(name)
    same(permits:try_set_permits(2), true)
    local permit, gone = assert(permits:acquire()), assert(permits:acquire())
    same(permits:delete(), true)
    fails("lost", permit:extend(5))
    same(permit:lost(), true)
    same(select(2, permit:lost()), "missing")
    fails("lost", permit:release())
    same(permit:lost(), true, "a permit remembers its loss")
    local message = fails("lost", gone:release())
    check(message:find("release permit " .. gone:id() .. ' of "', 1, true), "it tells of the permit: " .. message)
    check(message:find(": it was acquired and has been lost", 1, true), "and what became of it: " .. message)
    same(gone:lost(), true)
    same(gone:remaining(), 0)
end

function scenes.permits_with(url, name)
    local client = assert(redlatch.connect(url))
    local permits = client:permit_semaphore(name)
    same(permits:try_set_permits(1), true)
    local results = {permits:with(function(permit)
        check(permit:remaining() > 0, "taken inside")
        return "first"
    end, {lease = 20})}
    same(results[1], true)
    same(results[2], "first")
    same(permits:acquired(), 0)
    check(permits:with(function(permit) same(permit:release(), true) end), "released inside")
    raises("inside", permits.with, permits, function() error("inside") end)
    same(permits:acquired(), 0)
    local done, _, code = permits:with(function() permits:delete() end)
    same(done, false)
    same(code, "lost")
    local message = fails("not_found", permits:with(error, {timeout = 0}))
    check(message:find("nobody made the semaphore; expected try_set_permits()", 1, true), "what to do: " .. message)
end

function scenes.permit_to_be_closed(url, name)
    if _VERSION ~= "Lua 5.4" then
        return -- there the syntax does not exist
    end
    local client = assert(redlatch.connect(url))
    local permits = client:permit_semaphore(name)
    same(permits:try_set_permits(1), true)
    local run = assert(load([[
        local permits, body = ...
        local permit <close> = assert(permits:acquire())
        return body(permit)
    ]]))
    same(run(permits, function(permit) return #permit:id() end), 32)
    same(permits:acquired(), 0)
    raises("inside", run, permits, function() error("inside") end)
    same(permits:acquired(), 0)
    local worker = coroutine.create(run)
    assert(coroutine.resume(worker, permits, coroutine.yield))
    same(permits:acquired(), 1)
    same(coroutine.close(worker), true)
    same(permits:acquired(), 0, "closing a coroutine releases")
    raises("lost", run, permits, function() permits:delete() end)
end

function scenes.latch(url, name)
    local client = assert(redlatch.connect(url))
    local latch = client:latch(name)
    same(latch:wait(), true)
    same(latch:count(), 0)
    same(latch:count_down(), true)
    same(latch:try_set_count(2), true)
    same(latch:try_set_count(2), false)
    local message = fails("timeout", latch:wait {timeout = 0.3})
    check(message:find("closed during the wait of 0.3 s", 1, true), "it tells what was in the way: " .. message)
    check(message:find(name, 1, true), "it tells the name: " .. message)
    fails("timeout", latch:wait {timeout = 0})
    message = fails("timeout", client:latch(name, {timeout = 0.2}):wait())
    check(message:find("wait of 0.2 s", 1, true), "it waits as long as the latch says: " .. message)
    same(latch:count_down(), true)
    same(latch:count(), 1)
    same(latch:count_down(), true)
    same(latch:wait {timeout = 0}, true)
    same(latch:delete(), false)
    same(latch:try_set_count(1), true)
    same(latch:delete(), true)
    same(tostring(latch), ("redlatch.Latch %q"):format(latch:name()))
end

function scenes.misuse(url, name)
    local client = assert(redlatch.connect(url))
    local semaphore, permits, latch = client:semaphore(name), client:permit_semaphore(name), client:latch(name)
    raises("name is 0 bytes", client.semaphore, client, "")
    raises("name is 7, a number", client.permit_semaphore, client, 7)
    raises("name is nil", client.latch, client)
    local message = raises("permits is -1; expected a whole number, 0 to 2147483647", function()
        semaphore:release(-1)
    end)
    check(message:find("counts.lua:", 1, true), "the caller's line: " .. message)
    raises("permits is 1.5", semaphore.acquire, semaphore, {permits = 1.5})
    raises("permits is \"2\", a string", semaphore.acquire, semaphore, {permits = "2"})
    raises("permits is nil", semaphore.try_set_permits, semaphore)
    raises("permits is " .. tostring(0 / 0), semaphore.add_permits, semaphore, 0 / 0)
    raises("permits is 0; expected a whole number, 1 to", semaphore.start_acquire, semaphore, {permits = 0})
    -- The least number that each method takes.
    for least, methods in pairs {
        [-2147483647] = {
            semaphore = {"add_permits", "start_add_permits"},
            permits = {"add_permits", "start_add_permits"},
        },
        [0] = {
            semaphore = {"try_set_permits", "start_try_set_permits", "release", "release_if_exists"},
            permits = {"try_set_permits", "start_try_set_permits", "set_permits", "start_set_permits"},
        },
        [1] = {
            semaphore = {"start_release", "start_release_if_exists"},
            permits = {"acquire_many", "start_acquire_many"},
            latch = {"try_set_count", "start_try_set_count"},
        },
    } do
        for object, names in pairs(methods) do
            object = ({semaphore = semaphore, permits = permits, latch = latch})[object]
            for _, method in ipairs(names) do
                raises(("is %d; expected a whole number, %d to "):format(least - 1, least), object[method], object,
                    least - 1)
            end
        end
    end
    raises("ttl is 0", semaphore.try_set_permits, semaphore, 1, {ttl = 0})
    raises("no option \"lease\"", semaphore.acquire, semaphore, {lease = 1})
    raises("no option \"timeout\"", semaphore.try_acquire, semaphore, {timeout = 1})
    raises("options are 2, a number", semaphore.acquire, semaphore, 2)
    raises("expected a function", semaphore.with, semaphore, 5)
    raises("expected a redlatch.Semaphore before a colon", semaphore.acquire, {permits = 1})
    raises("lease is 0", permits.acquire, permits, {lease = 0})
    for _, acquire_many in ipairs {permits.acquire_many, permits.start_acquire_many} do
        raises("count is 1001; expected a whole number, 1 to 1000", acquire_many, permits, 1001)
    end
    raises("expected 32 hexadecimal digits", permits.release, permits, "12")
    raises("id holds a NUL byte", permits.release, permits, "\0")
    raises("permit is nil", permits.release, permits)
    raises("seconds is nil", permits.extend, permits, ("0"):rep(32))
    raises("expected a function", permits.with, permits)
    raises("timeout is -2", latch.wait, latch, {timeout = -2})
    raises("expected a redlatch.Latch before a colon", latch.count_down)
    raises("count is 5; expected none: a latch is counted down by one", latch.count_down, latch, 5)
    raises("count is 2; expected none", latch.start_count_down, latch, 2)
    assert(client:lock(name):acquire())
    fails("wrong_type", semaphore:acquire())
    fails("wrong_type", semaphore:available())
    fails("wrong_type", latch:count_down())
    fails("wrong_type", permits:acquire())
end

function scenes.what_is_held_of_what_has_permits(url, name)
    local client = assert(redlatch.connect(url))
    local gate, slots = client:semaphore(name), client:permit_semaphore(name .. ":slots")
    assert(gate:try_set_permits(5) and slots:try_set_permits(5))
    for _, bare in ipairs {gate, slots} do
        local report = assert(client:inspect(bare:name()))
        same(report.detected_kind, "count")
        same(report.count, 5)
        same(report.locked, nil, "a number does not tell")
    end
    local permit = assert(slots:acquire())
    local report = assert(client:inspect(slots:name()))
    same(report.detected_kind, "permit_semaphore")
    same(report.count, 4)
    same(report.holders, 1)
    same(report.locked, nil, "it is neither held nor free")
    assert(permit:release() and slots:delete() and gate:delete())
end

function scenes.closed(url, name)
    local client = assert(redlatch.connect(url))
    local semaphore, permits, latch = client:semaphore(name), client:permit_semaphore(name .. ":p"), client:latch(name)
    assert(permits:try_set_permits(1))
    local permit = assert(permits:acquire())
    assert(client:close())
    fails("closed", semaphore:acquire())
    fails("closed", semaphore:start_acquire())
    fails("closed", permits:acquire())
    fails("closed", permit:start_release())
    fails("closed", permit:start_release()) -- what could not be started was not released
    fails("closed", permit:release())
    same(permit:remaining(), 0)
    fails("closed", latch:wait())
    raises("closed", client.semaphore, client, name)
    local other = assert(redlatch.connect(url)):permit_semaphore(name .. ":p")
    same(other:acquired(), 0, "closing gives permits back")
    assert(other:delete())
end

-- Objects that are collected: what nobody owns stays, and no wait or event is the worse for it.
function scenes.collected(url, name)
    local client = assert(redlatch.connect(url))
    local permits = client:permit_semaphore(name)
    assert(permits:try_set_permits(1))
    local id = assert(permits:acquire()):id()
    stage.collect()
    same(permits:acquired(), 1, "another process may know the id")
    permits = nil
    stage.collect()
    permits = client:permit_semaphore(name)
    check(permits:lease_of(id) > 0, "and it is taken yet")
    same(permits:release(id), true)
    assert(client:semaphore(name .. ":s"):try_set_permits(1))
    assert(client:semaphore(name .. ":s"):acquire())
    stage.collect()
    same(client:semaphore(name .. ":s"):available(), 0)
    assert(client:semaphore(name .. ":s"):delete() and permits:delete())
    permits = assert(redlatch.connect(url)):permit_semaphore(name)
    stage.collect()
    assert(permits:try_set_permits(1), "it keeps its client")
    local permit = assert(permits:acquire())
    permits = nil
    stage.collect()
    same(permit:release(), true, "a permit keeps its semaphore")
    assert(client:permit_semaphore(name):delete())
end

-- Clients that are dropped with permits taken: their end gives them back.
function scenes.dropped_clients(url, name)
    local client = assert(redlatch.connect(url))
    local permits = client:permit_semaphore(name)
    assert(permits:try_set_permits(5))
    for _ = 1, 5 do
        assert(assert(redlatch.connect(url)):permit_semaphore(name):acquire())
    end
    stage.collect()
    same(#assert(permits:acquire_many(5, {timeout = 8})), 5)
    assert(permits:delete())
end

function scenes.in_coroutines(url, name)
    local client = assert(redlatch.connect(url))
    local permits = client:permit_semaphore(name)
    assert(permits:try_set_permits(1))
    local function worker()
        local permit, _, code = permits:try_acquire()
        coroutine.yield(permit and true or code)
        return permit and permit:release()
    end
    local first, second = coroutine.create(worker), coroutine.create(worker)
    same(select(2, coroutine.resume(first)), true)
    same(select(2, coroutine.resume(second)), "timeout", "coroutines that use one object exclude each other")
    same(select(2, coroutine.resume(first)), true)
    assert(permits:delete())
end

-- What lives until the program ends.
local kept

function scenes.program_ends(url, name)
    local client = assert(redlatch.connect(url))
    local permits, semaphore, latch = client:permit_semaphore(name), client:semaphore(name .. ":s"), client:latch(name)
    assert(permits:try_set_permits(3))
    kept = {permits, assert(permits:acquire_many(2)), semaphore, latch}
    assert(kept[1]:start_acquire() and kept[3]:start_acquire() and kept[4]:wait())
end

function scenes.waits_for_semaphore(url, name)
    local semaphore = assert(redlatch.connect(url)):semaphore(name)
    stage.ask("ready")
    same(semaphore:acquire {permits = 2}, true)
end

function scenes.waits_for_permit(url, name)
    local permits = assert(redlatch.connect(url)):permit_semaphore(name)
    stage.ask("ready")
    local permit = assert(permits:acquire())
    same(permit:release(), true)
end

function scenes.waits_for_latch(url, name)
    local latch = assert(redlatch.connect(url)):latch(name)
    stage.ask("ready")
    same(latch:wait(), true)
end

-- Started calls and their events.

local WAIT = 10

-- The next events, by their tags, within a time that is generous.
local function events(client, count)
    local found, ends = {}, os.time() + WAIT
    while count > 0 do
        local event, message = client:next_event()
        if event then
            found[event.tag or event.serial], count = event, count - 1
        else
            same(message, nil, "no event is no failure")
            check(os.time() <= ends, "an event within " .. WAIT .. " s")
            os.execute("sleep 0.005")
        end
    end
    return found
end

local function expect(client, kind, tag, field, object, code)
    local event = check(events(client, 1)[tag], "the event of this call")
    same(event.kind, kind, "kind")
    same(event[field], object, field)
    same(event.code, code, "code")
    same(event.ok, code == nil, "ok")
    check(not code or event.message:find(object:name():sub(1, 57), 1, true), "the message: " .. tostring(event.message))
    return event
end

-- Options of both semaphores: who makes it, how long it waits, how long a permit lasts.
function scenes.options(url, name)
    local client = assert(redlatch.connect(url))
    for _, kind in ipairs {"semaphore", "permit_semaphore"} do
        local object = name .. kind
        fails("not_found", client[kind](client, object):with(error))
        fails("timeout", client[kind](client, object, {wait_for_creation = true, timeout = 0.2}):with(error))
        fails("timeout", client[kind](client, object):acquire {timeout = 0.2})
        local limited = client[kind](client, object, {limit = 1, timeout = 0.2})
        same(client:inspect(object).detected_kind, "nothing")
        same(limited:with(function()
            fails("timeout", limited:with(error))
            fails("timeout", limited:acquire())
            same(limited:available(), 0)
        end), true)
        same(limited:available(), 1)
        same(limited:delete(), true)
        assert(client:event_fd())
        local started = client[kind](client, object, {limit = 2, timeout = 5})
        expect(client, "acquired", assert(started:start_acquire()), "semaphore", started)
        same(client:next_event(), false, "nobody is told that it was made")
        local second = client[kind](client, object .. 2, {limit = 1})
        local cancelled = assert(second:start_acquire())
        same(client:cancel(cancelled), true)
        expect(client, "acquired", cancelled, "semaphore", second, "cancelled")
        check(second:acquire {timeout = 20}, "what was granted to nobody comes back")
        same(second:delete(), true)
        local foreign = client:lock(object .. 3)
        assert(foreign:acquire())
        local refused = client[kind](client, object .. 3, {limit = 2})
        expect(client, "acquired", assert(refused:start_acquire()), "semaphore", refused, "wrong_type")
        assert(foreign:release())
        same(started:available(), 1)
        same(started:delete(), true)
        raises("limit is 0; expected a whole number, 1 to", client[kind], client, object, {limit = 0})
        raises("wait_for_creation is 1, a number", client[kind], client, object, {wait_for_creation = 1})
        raises("no option \"permits\"; known are", client[kind], client, object, {permits = 1})
    end
    raises("no option \"lease\"", client.semaphore, client, name, {lease = 5})
    local leased = client:permit_semaphore(name, {lease = 20, limit = 2})
    local short, renewed = assert(leased:acquire()), assert(leased:acquire {lease = -1})
    stage.between(10, short:remaining(), 20, "the semaphore's lease")
    stage.between(20, renewed:remaining(), 30, "a lease of its own")
    assert(short:release() and renewed:release() and leased:delete())
end

function scenes.started_semaphore(url, name)
    local client = assert(redlatch.connect(url))
    local semaphore = client:semaphore(name)
    assert(client:event_fd() and semaphore:try_set_permits(1))
    expect(client, "acquired", assert(semaphore:start_acquire()), "semaphore", semaphore)
    same(semaphore:available(), 0)
    expect(client, "acquired", assert(semaphore:start_acquire {timeout = 0}), "semaphore", semaphore, "timeout")
    local waiting = assert(semaphore:start_acquire {permits = 2})
    same(client:next_event(), false)
    local released = assert(semaphore:start_release(2))
    local both = events(client, 2)
    same(both[released].kind, "released")
    same(both[waiting].ok, true)
    waiting = assert(semaphore:start_acquire())
    same(client:cancel(waiting), true)
    expect(client, "acquired", waiting, "semaphore", semaphore, "cancelled")
    assert(semaphore:delete())
end

function scenes.started_permits(url, name)
    local client = assert(redlatch.connect(url))
    local permits = client:permit_semaphore(name)
    assert(client:event_fd() and permits:try_set_permits(2))
    local event = expect(client, "acquired", assert(permits:start_acquire {lease = 20}), "semaphore", permits)
    same(#event.permits, 1)
    stage.between(10, event.permits[1]:remaining(), 20, "remaining")
    same(event.serial, event.permits[1]:serial())
    expect(client, "released", assert(event.permits[1]:start_release()), "semaphore", permits)
    fails("not_owned", event.permits[1]:start_release())
    fails("not_owned", event.permits[1]:release())
    local list = expect(client, "acquired", assert(permits:start_acquire_many(2)), "semaphore", permits).permits
    same(#list, 2)
    event = expect(client, "acquired", assert(permits:start_acquire {timeout = 0}), "semaphore", permits, "timeout")
    same(event.permits, nil)
    assert(list[2]:release())
    same(assert(redlatch.connect(url)):permit_semaphore(name):delete(), true)
    fails("lost", list[1]:extend(5))
    event = events(client, 1)[list[1]:serial()]
    same(event.kind, "lost")
    same(event.code, "lost")
    local words = "permit " .. list[1]:id() .. ' of "' .. name .. '": '
    check(event.message:find(words .. "lost: the server", 1, true), event.message)
    same(list[1]:lost(), true)
    event = expect(client, "released", assert(list[1]:start_release()), "semaphore", permits, "lost")
    check(event.message:find(words .. "it was acquired and has been lost", 1, true), event.message)
    same(event.reason, "missing")
end

function scenes.started_latch(url, name)
    local client = assert(redlatch.connect(url))
    local latch = client:latch(name)
    assert(client:event_fd() and latch:try_set_count(2))
    expect(client, "counted", assert(latch:start_count_down()), "latch", latch)
    expect(client, "opened", assert(latch:start_wait {timeout = 0.3}), "latch", latch, "timeout")
    local waiting, counted = assert(latch:start_wait()), assert(latch:start_count_down())
    local both = events(client, 2)
    same(both[waiting].kind, "opened")
    same(both[waiting].latch, latch)
    same(both[counted].kind, "counted")
end

stage.play(scenes)
