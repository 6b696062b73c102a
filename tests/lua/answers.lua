--- Scenes: started questions and changes. What their events bring is what the blocking calls return.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"
local stage = require "stage"

local same, check, fails, raises = stage.same, stage.check, stage.fails, stage.raises
local scenes = {}

-- The answers are on their way: asking again and again is the quickest.
local next_event = stage.next_event

-- Starts a method and returns its event, which must be about that call and go well.
local function event_of(client, object, method, ...)
    local tag = assert(object["start_" .. method](object, ...))
    local event = next_event(client)
    same(event.tag, tag, method .. ": tag")
    same(event.ok, true, method .. ": ok, " .. tostring(event.message))
    return event
end

-- Does so for calls in a row, given as {method, value, kind, arguments}; the value is also that of the blocking call.
local function play(client, object, field, rows)
    for _, row in ipairs(rows) do
        local method, value, kind, argument, more = row[1], row[2], row[3] or "answered", row[4], row[5]
        local event = event_of(client, object, method, argument, more)
        same(event.kind, kind, method .. ": kind")
        same(event[field], object, method .. ": " .. field)
        same(event.serial, kind == "answered" and nil or event.serial, method .. ": serial")
        same(event.value, value, method .. ": value")
    end
end

function scenes.semaphore(url, name)
    local client = assert(redlatch.connect(url))
    local semaphore = client:semaphore(name)
    play(client, semaphore, "semaphore", {
        {"available", 0}, {"release_if_exists", false, "released"}, {"delete", false},
        {"try_set_permits", true, nil, 3}, {"try_set_permits", false, nil, 9},
        {"available", 3}, {"add_permits", true, nil, -5}, {"available", -2}, {"drain", -2},
        {"release_if_exists", true, "released", 4}, {"drain", 4}, {"available", 0}, {"delete", true},
        {"try_set_permits", true, nil, 1, {ttl = 30}},
    })
    stage.between(15, client:inspect(name).ttl, 30, "ttl")
    same(semaphore:delete(), true)
    raises("permits is 0; expected a whole number, 1 to", semaphore.start_release_if_exists, semaphore, 0)
    raises("permits is nil", semaphore.start_try_set_permits, semaphore)
    raises("ttl is 0", semaphore.start_try_set_permits, semaphore, 1, {ttl = 0})
    raises("permits is 1.5", semaphore.start_add_permits, semaphore, 1.5)
end

function scenes.latch(url, name)
    local client = assert(redlatch.connect(url))
    local latch = client:latch(name)
    play(client, latch, "latch", {
        {"count", 0}, {"delete", false}, {"try_set_count", true, nil, 2}, {"try_set_count", false, nil, 9},
        {"count", 2}, {"count_down", nil, "counted"}, {"count", 1}, {"delete", true},
    })
    raises("count is 0", latch.start_try_set_count, latch, 0)
end

function scenes.permits(url, name)
    local client, other = assert(redlatch.connect(url)), assert(redlatch.connect(url))
    local permits = client:permit_semaphore(name)
    play(client, permits, "semaphore", {
        {"permits", 0}, {"try_set_permits", true, nil, 3}, {"try_set_permits", false, nil, 9},
        {"set_permits", true, nil, 5}, {"add_permits", true, nil, -1}, {"permits", 4}, {"available", 4},
    })
    local permit, theirs = assert(permits:acquire()), assert(other:permit_semaphore(name):acquire {lease = 60})
    play(client, permits, "semaphore", {{"acquired", 2}, {"available", 2}})
    stage.between(50, event_of(client, permits, "lease_of", theirs:id()).value, 60, "lease of theirs")
    stage.between(20, event_of(client, permits, "lease_of", permit).value, 30, "lease of ours")
    play(client, permits, "semaphore", {
        {"extend", nil, "extended", permit, 9}, {"extend", nil, "extended", theirs:id(), 9},
        {"release", nil, "released", theirs:id()}, {"lease_of", 0, nil, theirs:id()},
    })
    stage.between(1, permit:remaining(), 9, "after its extension")
    assert(permit:start_extend(20))
    local event = next_event(client)
    same(event.kind, "extended")
    same(event.semaphore, permits)
    stage.between(10, permit:remaining(), 20, "after another")
    assert(permits:start_release(theirs:id()))
    event = next_event(client)
    same(event.code, "not_owned")
    same(event.ok, false)
    same(event.value, nil)
    assert(permits:start_extend(theirs:id(), 5))
    same(next_event(client).code, "not_owned")
    play(client, permits, "semaphore", {{"release", nil, "released", permit}, {"delete", true}, {"acquired", 0}})
    fails("not_owned", permit:start_extend(5))
    raises("expected 32 hexadecimal digits", permits.start_release, permits, "12")
    raises("seconds is nil", permits.start_extend, permits, permit)
    raises("count is -1", permits.start_set_permits, permits, -1)
end

-- A lock of any sort, held by another client and free again.
local function ask_about(client, lock, other, theirs)
    assert(theirs:acquire {lease = 50})
    local state = event_of(client, lock, "state").value
    check(state.locked and state.count == 1 and state.holders == 1 and state.waiters == 0, "locked by one")
    same(state.owner:match("^(.*):%d+$"), other:uuid(), "owner") -- of several locks it may be that of any
    stage.between(40, state.ttl, 50, "ttl")
    play(client, lock, "lock", {{"force_release", true}, {"force_release", false}})
    state = event_of(client, lock, "state").value
    check(not state.locked and not state.owner and state.ttl == 0 and state.count == 0 and state.holders == 0, "free")
    fails("lost", theirs:release())
end

function scenes.locks(url, name)
    local client, other = assert(redlatch.connect(url)), assert(redlatch.connect(url))
    ask_about(client, client:lock(name), other, other:lock(name))
    ask_about(client, client:plain_lock(name), other, other:plain_lock(name))
    ask_about(client, client:read_write_lock(name).write, other, other:read_write_lock(name).write)
    ask_about(client, client:group_lock(name, {"a", "b"}), other, other:group_lock(name, {"b", "c"}))
    local function several(of)
        return redlatch.multi_lock {of:lock(name .. 1), of:lock(name .. 2)}
    end
    ask_about(client, several(client), other, several(other))
    local third = assert(redlatch.connect(url))
    local members = {client:lock(name .. 1), third:lock(name .. 2)}
    ask_about(client, redlatch.multi_lock(members), other, several(other))
end

function scenes.reports(url, name)
    local client = assert(redlatch.connect(url, {name_prefix = "p:"}))
    local lock, owner = client:lock(name, {lease = 20}), client:lock(name .. 2)
    assert(lock:acquire())
    local event = event_of(client, client, "inspect", name)
    same(event.kind, "answered")
    same(event.name, "p:" .. name)
    local report = event.value
    same(report.name, name)
    same(report.detected_kind, "mutex")
    same(report.parties[1].owner, lock:state().owner)
    check(report.parties[1].host and report.parties[1].pid > 1, "host and process of a client that is connected")
    same(event_of(client, client, "inspect", name, lock:state().owner).value.parties[1].owner, lock:state().owner)
    same(event_of(client, client, "inspect", owner:name()).value.detected_kind, "nothing")
    raises("owner is of type number", client.start_inspect, client, name, 7)
    raises("name is 0 bytes", client.start_inspect, client, "")
    local kept = event.value
    client, event, lock, report = nil, nil, nil, nil
    stage.collect()
    same(kept.holders, 1, "a report needs no client")
end

-- A walk needs no loop of its own: each step has one event, also where many pages have nothing.
function scenes.walk(url, name)
    local client = assert(redlatch.connect(url))
    local semaphore, locks, expected = client:semaphore(name), {}, {}
    for number = 1, 300 do
        locks[number] = client:lock(name .. ":" .. number)
        assert(locks[number]:acquire())
        expected[locks[number]:name()] = true
    end
    assert(semaphore:try_set_permits(1))
    local walk = client:walk(name .. ":*")
    local report
    repeat
        local event = event_of(client, walk, "next")
        same(event.walk, walk)
        same(event.kind, "answered")
        report = event.value
        if report then
            check(report.locked, "it is locked: " .. report.name)
            expected[report.name] = nil
        end
    until not report
    same(report, false, "the end")
    same(next(expected), nil, "a lock that was not found")
    same(#locks, 300)
    same(event_of(client, walk, "next").value, false, "the end is the end")
    walk = client:walk("nothing:*")
    assert(walk:start_next())
    raises("scan has a step in progress", walk.start_next, walk)
    same(next_event(client).value, false)
    assert(walk:start_next())
    walk = nil
    stage.collect()
    same(next_event(client).ok, true, "a walk that nobody else has")
    raises("pattern is 7", client.walk, client, 7)
    same(tostring(client:walk("x:*")), 'redlatch.Walk "x:*"')
    assert(semaphore:delete())
end

function scenes.refusals(url, name)
    local client = assert(redlatch.connect(url))
    assert(client:lock(name):acquire())
    local semaphore, latch = client:semaphore(name), client:latch(name)
    for object, method in pairs {[semaphore] = "drain", [latch] = "count"} do
        assert(object["start_" .. method](object))
        local event = next_event(client)
        same(event.kind, "answered")
        same(event.ok, false)
        same(event.code, "wrong_type")
        same(event.value, nil)
        check(event.message:find(name, 1, true), "it tells the name: " .. event.message)
    end
    local nobody = assert(redlatch.connect("unix:///nowhere/redis.sock", {lazy = true, command_timeout = 0.2}))
    assert(nobody:semaphore(name):start_available())
    same(next_event(nobody).code, "unreachable")
    assert(nobody:walk():start_next())
    same(next_event(nobody).code, "unreachable")
    assert(nobody:start_inspect(name))
    assert(nobody:lock(name):start_state())
    nobody = nil
    stage.collect() -- with calls under way
    assert(semaphore:start_drain() and client:start_inspect(name) and client:walk():start_next())
    assert(client:close())
    fails("closed", semaphore:start_drain())
    fails("closed", client:start_inspect(name))
end

stage.play(scenes)
