--- The Lua driver: reads calls as lines of JSON from the standard input and makes them with the public
-- module `redlatch`.
--
--     lua lua_driver.lua                 by blocking calls
--     lua lua_driver.lua asynchronous    by started calls and their events, where the module has them
--
-- It only translates. Lua has no threads: an actor is an explicit owner of lock objects, and a call that an actor
-- starts is a started call in both modes. Misuse, which the module raises, has no code. It counts as "closed" if the
-- client is closed, otherwise as "invalid".
-- SPDX-License-Identifier: Apache-2.0

local cjson = require "cjson"
local redlatch = require "redlatch"
local uv = require "luv"

if jit then
    jit.off(true, true) -- the library is compiled, but not this file: redlatch/keys.lua says why
end

local asynchronous = arg[1] == "asynchronous"

local clients = {}
local locks = {} -- by the label in the trace: client, arguments, and the lock object of each actor
local objects = {} -- semaphores, permit semaphores and latches, by the label in the trace: client and object
local actors = {} -- by name: the owner, and the call that the actor has started
local MAIN = "main actor" -- cannot be a label of a trace, because it has a blank

local function text(value)
    if type(value) ~= "table" then
        return value
    end
    return (value.hex:gsub("%x%x", function(digits)
        return string.char(tonumber(digits, 16))
    end))
end

local function actor_of(call)
    local name = call.by or MAIN
    actors[name] = actors[name] or {owner = {}}
    return actors[name]
end

-- The outcome of a call that returned `first`, `message`, `code`; `value` is its value if it succeeded.
local function outcome(first, message, code, value)
    if first == nil then
        return {status = code, message = message}
    end
    return {status = "ok", value = value}
end

-- The ids of permits.
local function ids_of(permits)
    local ids = {}
    for i, permit in ipairs(permits or {}) do
        ids[i] = permit:id()
    end
    return permits and ids
end

-- Makes a call that may raise a misuse.
local function attempt(client, call, ...)
    local good, answer = pcall(call, ...)
    if good then
        return answer
    end
    if not tostring(answer):find("redlatch: ", 1, true) then
        error(answer, 0) -- an error of the driver itself
    end
    return {status = client and client:closed() and "closed" or "invalid", message = answer}
end

-- Options as the module names them: milliseconds become seconds.
local function options_of(given)
    local options = {}
    for name, value in pairs(given or {}) do
        local seconds = name:match("^(.*)_ms$")
        if type(value) == "boolean" then
            options[name] = value
        elseif not seconds then
            options[name] = text(value)
        elseif type(value) == "string" then -- "renewed" and "forever"
            options[seconds] = -1
        else
            options[seconds] = value / 1000
        end
    end
    return options
end

-- The client's method that makes a lock of a kind.
local KINDS = {
    mutex = "lock", fenced = "fenced_lock", fair = "fair_lock", spin = "spin_lock", plain = "plain_lock",
    group = "group_lock",
    read = "read_write_lock", write = "read_write_lock",
}

local function made_alone(lock, options)
    local make = lock.client[KINDS[lock.kind]]
    if lock.values then
        return make(lock.client, lock.name, lock.values, options)
    end
    local made = make(lock.client, lock.name, options)
    return KINDS[lock.kind] == "read_write_lock" and made[lock.kind] or made
end

local object_of

-- A composite lock, made of the objects by which the same actor uses its members. It is its own owner.
local function made_jointly(lock, options, call)
    local members = {}
    options.owner = nil
    for place, member in ipairs(lock.members) do
        members[place] = object_of(member, call)
    end
    if lock.majority then
        options.allow_few = lock.allow_few
        return redlatch.redlock(members, options)
    end
    return redlatch.multi_lock(members, options)
end

-- The lock object by which an actor uses a lock. If the lock object is the owner, all actors share one.
function object_of(lock, call)
    local key = lock.by_handle and lock or actor_of(call)
    if not lock.objects[key] then
        local options = options_of(lock.options)
        options.owner = not lock.by_handle and key.owner or nil
        lock.objects[key] = (lock.members and made_jointly or made_alone)(lock, options, call)
    end
    return lock.objects[key]
end

-- ------------------------------------------------------------------------------------------------ started calls --

-- Collects the available events. A closed client has no more events: all its started calls have ended.
local function collect(client)
    local event, message, code = client:next_event()
    while event do
        for _, actor in pairs(actors) do
            if event.tag and actor.tag == event.tag and actor.client == client then
                actor.tag = nil
                actor.done = outcome(event.ok or nil, event.message, event.code,
                    ids_of(event.permits) or actor.shown(event.value))
            end
        end
        event, message, code = client:next_event()
    end
    for _, actor in pairs(actors) do
        if event == nil and actor.tag and actor.client == client then
            actor.tag, actor.done = nil, outcome(nil, message, code)
        end
    end
end

-- Waits for the call that an actor has started, and returns its outcome.
local function finish(actor)
    collect(actor.client)
    while actor.tag do
        local watcher = uv.new_poll(assert(actor.client:event_fd()))
        watcher:start("r", function()
            watcher:close()
        end)
        uv.run()
        collect(actor.client)
    end
    local done = assert(actor.done, "the actor has started no call")
    actor.done = nil
    return done
end

local function itself(value)
    return value
end

-- Starts a call. `shown` converts the value of its event to the value of the outcome.
local function start_shown(shown, client, call, object, method, ...)
    local actor = actor_of(call)
    actor.shown = shown
    assert(not actor.tag and not actor.done, "the actor has a call that is not finished")
    client:event_fd() -- the first call makes a client keep its events; if the client is closed, the call below fails
    local tag, message, code = object[method](object, ...)
    actor.client, actor.tag = client, tag
    if not tag then
        actor.done = outcome(nil, message, code)
    end
    return call.start and {started = true} or finish(actor)
end

local function start(...)
    return start_shown(itself, ...)
end

local function nothing()
    return nil
end

-- ------------------------------------------------------------------------------------------------ calls on locks --

local methods = {}

function methods.acquire(object, call, client)
    local options = options_of {timeout_ms = call.wait_ms, lease_ms = call.lease_ms}
    if asynchronous or call.start then
        return start(client, call, object, "start_acquire", options)
    end
    return outcome(object:acquire(options))
end

function methods.try_acquire(object, call, client)
    if asynchronous then
        return start(client, call, object, "start_acquire", {timeout = 0})
    end
    return outcome(object:try_acquire())
end

function methods.release(object, call, client)
    if asynchronous then
        return start(client, call, object, "start_release", {confirm = call.confirm})
    end
    return outcome(object:release({confirm = call.confirm}))
end

function methods.extend(object, call, client)
    if asynchronous then
        return start(client, call, object, "start_extend", call.lease_ms / 1000)
    end
    return outcome(object:extend(call.lease_ms / 1000))
end

function methods.force_release(object, call, client)
    if asynchronous then
        return start(client, call, object, "start_force_release")
    end
    local released, message, code = object:force_release()
    return outcome(released, message, code, released)
end

local function milliseconds(seconds)
    return seconds == math.huge and -1 or math.floor(seconds * 1000 + 0.5)
end

-- Calls methods without arguments, one after the other. Returns their results by name, or nil and the first failure.
local function ask(object, names)
    local answers = {}
    for _, name in ipairs(names) do
        local answer, message, code = object[name](object)
        if answer == nil then
            return nil, {status = code, message = message}
        end
        answers[name] = answer
    end
    return answers
end

local function state_shown(state)
    return state and {
        locked = state.locked, ttl_ms = milliseconds(state.ttl), owner = state.owner or "", count = state.count,
        holders = state.holders, waiters = state.waiters,
    }
end

function methods.query(object, call, client)
    if asynchronous then
        return start_shown(state_shown, client, call, object, "start_state")
    end
    local state, message, code = object:state()
    return outcome(state, message, code, state_shown(state))
end

-- The Hold objects that a trace keeps, by the labels that the trace gives them.
local kept = {}

function methods.hold(object, call)
    local held = kept[call.kept]
    local now, failure = ask(held or object, {held and "count" or "hold_count", "remaining", "lost"})
    local count = now and (now.count or now.hold_count)
    held = held or object:held()
    kept[call.keep or 1] = held
    return failure or outcome(true, nil, nil, {
        held = count > 0,
        lost = now.lost,
        count = count,
        remaining_ms = milliseconds(now.remaining),
        owner = held and held:owner() or "",
        token = held and held:token() or 0,
    })
end

-- --------------------------------------------------------------------- calls on semaphores, permits and latches --

local counted = {}

-- The outcome of a method whose result is the value.
local function answer_of(value, message, code)
    return outcome(value, message, code, value)
end

function counted.acquire_permits(object, call, client)
    local options = options_of {timeout_ms = call.wait_ms, lease_ms = call.lease_ms}
    local many = object.acquire_many ~= nil
    if not many then
        options.permits = call.permits
    end
    if asynchronous or call.start then
        if many then
            return start(client, call, object, "start_acquire_many", call.permits, options)
        end
        return start(client, call, object, "start_acquire", options)
    end
    if not many then
        return outcome(object:acquire(options))
    end
    local permits, message, code = object:acquire_many(call.permits, options)
    return outcome(permits, message, code, ids_of(permits))
end

function counted.release_permits(object, call, client)
    if asynchronous then
        return start(client, call, object, "start_release", call.permits)
    end
    return outcome(object:release(call.permits))
end

function counted.wait(object, call, client)
    local options = options_of {timeout_ms = call.wait_ms}
    if asynchronous or call.start then
        return start(client, call, object, "start_wait", options)
    end
    return outcome(object:wait(options))
end

function counted.count_down(object, call, client)
    if asynchronous then
        return start(client, call, object, "start_count_down")
    end
    return outcome(object:count_down())
end

function counted.release_if_exists(object, call, client)
    if asynchronous then
        return start(client, call, object, "start_release_if_exists", call.permits)
    end
    return answer_of(object:release_if_exists(call.permits))
end

function counted.release_permit(object, call, client)
    if asynchronous then
        return start(client, call, object, "start_release", call.id)
    end
    return outcome(object:release(call.id))
end

function counted.update_lease(object, call, client)
    if asynchronous then
        return start(client, call, object, "start_extend", call.id, call.lease_ms / 1000)
    end
    return outcome(object:extend(call.id, call.lease_ms / 1000))
end

function counted.lease_of(object, call, client)
    if asynchronous then
        return start_shown(milliseconds, client, call, object, "start_lease_of", call.id)
    end
    local lease, message, code = object:lease_of(call.id)
    return outcome(lease, message, code, lease and milliseconds(lease))
end

function counted.try_set(object, call, client)
    local method = object.try_set_count and "try_set_count" or "try_set_permits"
    local options = call.ttl_ms and {ttl = call.ttl_ms / 1000}
    if asynchronous then
        return start(client, call, object, "start_" .. method, call.number, options)
    end
    return answer_of(object[method](object, call.number, options))
end

for _, name in ipairs {"set_permits", "add_permits"} do
    counted[name] = function(object, call, client)
        if asynchronous then
            return start_shown(nothing, client, call, object, "start_" .. name, call.permits)
        end
        return outcome(object[name](object, call.permits))
    end
end

for _, name in ipairs {"available", "acquired", "permits", "drain", "count", "delete"} do
    counted[name] = function(object, call, client)
        if asynchronous then
            return start(client, call, object, "start_" .. name)
        end
        return answer_of(object[name](object))
    end
end

-- --------------------------------------------------------------------------------------------- calls about names --

local rechecks = {}

-- A name, as hexadecimal if it is not ASCII.
local function shown_name(name)
    if not name:find("[\128-\255]") then
        return name
    end
    return {hex = (name:gsub(".", function(byte)
        return ("%02x"):format(byte:byte())
    end))}
end

local function notified(report)
    local parties = {}
    for place, party in ipairs(report.parties) do
        parties[place] = {
            role = party.role, owner = party.owner, count = party.count, host = party.host or "", pid = party.pid or 0,
            label = party.label or "",
        }
    end
    return {
        name = shown_name(report.name),
        detected_kind = report.detected_kind,
        type = report.type,
        ttl_ms = milliseconds(report.ttl),
        token = report.token or 0,
        holders = report.holders,
        waiters = report.waiters,
        count = report.count or 0,
        parties = parties,
    }
end

function rechecks.inspect(client, call)
    if asynchronous then
        return start_shown(notified, client, call, client, "start_inspect", text(call.name))
    end
    local report, message, code = client:inspect(text(call.name))
    return outcome(report, message, code, report and notified(report))
end

function rechecks.scan(client, call)
    local found = {}
    local walk = asynchronous and client:walk(text(call.name))
    while walk do
        local step = start(client, call, walk, "start_next")
        if not step.value then
            return step.status == "ok" and outcome(true, nil, nil, found) or step
        end
        found[#found + 1] = notified(step.value)
    end
    for report in client:scan(text(call.name)) do
        found[#found + 1] = notified(report)
    end
    return outcome(true, nil, nil, found)
end

function rechecks.wait_free(client, call)
    local options = options_of {timeout_ms = call.wait_ms}
    if asynchronous or call.start then
        return start(client, call, client, "start_wait_free", text(call.name), options)
    end
    return outcome(client:wait_free(text(call.name), options))
end

-- -------------------------------------------------------------------------------------------------- other calls --

local calls = {}

function calls.open(call)
    return attempt(nil, function()
        local client, message, code = redlatch.connect(call.url, options_of(call.options))
        clients[call.client] = client or clients[call.client]
        return outcome(client, message, code, client and {uuid = client:uuid()})
    end)
end

function calls.close(call)
    return outcome(clients[call.client]:close())
end

function calls.lock(call)
    local options = call.options or {}
    local lock = {
        client = clients[call.client], kind = call.kind or "mutex", name = text(call.name), options = options,
        values = call.values, objects = {},
    }
    lock.by_handle = options.owner == "handle"
    options.owner = nil
    return attempt(lock.client, function()
        object_of(lock, {})
        locks[call.lock] = lock
        return outcome(true)
    end)
end

local function composite(call)
    local options = call.options or {}
    local lock = {members = {}, majority = call.call == "redlock", allow_few = call.allow_few, options = options}
    for place, member in ipairs(call.members) do
        lock.members[place] = assert(locks[member], "there is no such member")
    end
    lock.client = #lock.members > 0 and lock.members[1].client or select(2, next(clients))
    lock.objects = {}
    lock.by_handle = options.owner == "handle"
    options.owner = nil
    return attempt(lock.client, function()
        object_of(lock, {})
        locks[call.lock] = lock
        return outcome(true)
    end)
end

calls.multi_lock, calls.redlock = composite, composite

for _, kind in ipairs {"semaphore", "permit_semaphore", "latch"} do
    calls[kind] = function(call)
        local client = clients[call.client]
        return attempt(client, function()
            local options = call.options and options_of(call.options)
            objects[call.object] = {client = client, object = client[kind](client, text(call.name), options)}
            return outcome(true)
        end)
    end
end

function calls.free(call)
    locks[call.lock] = nil
    collectgarbage()
    return outcome(true)
end

function calls.finish(call)
    return finish(actor_of(call))
end

function calls.is_waiting(call)
    local actor = actor_of(call)
    collect(actor.client)
    return outcome(true, nil, nil, actor.tag ~= nil)
end

-- The end of a trace. Closing the clients ends the calls that still wait.
function calls.reset()
    for _, client in pairs(clients) do
        client:close()
    end
    clients, locks, objects, actors = {}, {}, {}, {}
    collectgarbage()
    return {reset = true}
end

function calls.leave(call)
    for _, lock in pairs(locks) do
        lock.objects[actor_of(call)] = nil
    end
    actors[call.by] = nil
    collectgarbage()
    return outcome(true)
end

local function answer_to(call)
    if calls[call.call] then
        return calls[call.call](call)
    end
    if rechecks[call.call] then
        local client = clients[call.client]
        return attempt(client, function()
            return rechecks[call.call](client, call)
        end)
    end
    if call.object then
        local place = assert(objects[call.object], "there is no such object")
        local method = assert(counted[call.call], "there is no such call")
        return attempt(place.client, function()
            return method(place.object, call, place.client)
        end)
    end
    local method = assert(methods[call.call], "there is no such call")
    local lock = assert(locks[call.lock], "there is no such lock")
    return attempt(lock.client, function()
        return method(object_of(lock, call), call, lock.client)
    end)
end

io.stdout:setvbuf("line")
for line in io.lines() do
    local good, answer = pcall(function()
        return answer_to(cjson.decode(line))
    end)
    print(cjson.encode(good and answer or {error = tostring(answer)}))
end
calls.reset()
