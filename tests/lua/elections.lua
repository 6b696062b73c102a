--- Scenes: candidates of elections, which live on the events of their clients.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"
local stage = require "stage"

local same, check = stage.same, stage.check
local scenes = {}

-- A client, and a candidate that notes in `seen` what is called.
local function stand(url, name, options)
    local client, seen = assert(redlatch.connect(url, options)), {}
    local candidate = assert(client:elect(name, {
        on_gain = function() seen[#seen + 1] = "gain" end,
        on_loss = function() seen[#seen + 1] = "loss" end,
    }))
    return client, candidate, seen
end

-- Hands events to a candidate until a condition holds. A second without one may pass between two of its attempts.
local function step_until(client, candidate, condition)
    local ends = os.time() + 10
    while not condition() do
        check(os.time() <= ends, "in time: " .. tostring(candidate))
        local event = client:next_event()
        same(candidate:step(event), event ~= false, "whether there was an event, the candidate's")
        if not event then
            os.execute("sleep 0.005")
        end
    end
end

function scenes.one_leads(url, name)
    local client, first, seen = stand(url, name)
    same(first:is_leader(), false, "before the event of the grant")
    step_until(client, first, function() return first:is_leader() end)
    same(table.concat(seen, " "), "gain")
    local other, second, of_second = stand(url, name)
    local leader = assert(second:leader())
    same(leader.role, "holder")
    check(leader.owner:sub(1, #client:uuid()) == client:uuid(), "the first leads")
    same(second:is_leader(), false)
    first:resign()
    first:resign()
    same(first:is_leader(), false, "at once")
    same(table.concat(seen, " "), "gain loss")
    step_until(client, first, function() return first:is_over() end)
    step_until(other, second, function() return second:is_leader() end)
    second:resign()
    step_until(other, second, function() return second:is_over() end)
    same(table.concat(of_second, " "), "gain loss")
    same(second:leader(), false)
end

function scenes.leads_again_after_a_loss(url, name)
    local client, candidate, seen = stand(url, name, {watchdog_lease = 1.5})
    step_until(client, candidate, function() return candidate:is_leader() end)
    same(assert(redlatch.connect(url)):lock(name):force_release(), true)
    step_until(client, candidate, function() return #seen == 2 end)
    same(candidate:is_leader(), false)
    step_until(client, candidate, function() return #seen == 3 end)
    same(table.concat(seen, " "), "gain loss gain")
    candidate:resign()
    step_until(client, candidate, function() return candidate:is_over() end)
end

function scenes.resigns_while_it_waits(url, name)
    local holder = assert(redlatch.connect(url)):lock(name)
    assert(holder:acquire())
    local client, candidate, seen = stand(url, name)
    candidate:resign()
    step_until(client, candidate, function() return candidate:is_over() end)
    same(#seen, 0)
    assert(holder:release())
    same(client:lock(name):state().locked, false, "it is not queued any more")
end

-- The grant is there, and its event is not collected.
function scenes.resigns_as_it_is_granted(url, name)
    local client, candidate, seen = stand(url, name)
    local lock = client:lock(name)
    while not lock:state().locked do
        os.execute("sleep 0.005")
    end
    candidate:resign()
    step_until(client, candidate, function() return candidate:is_over() end)
    same(#seen, 0)
    while lock:state().locked do -- what a cancelled acquire was granted is given back in the background
        os.execute("sleep 0.005")
    end
end

-- The event of the grant, or of a failure, is collected, and the candidate resigns before it gets the event.
function scenes.resigns_before_it_gets_its_event(url, name)
    for _, fail in ipairs {false, true} do
        local client, candidate, seen = stand(url, name)
        if fail then
            assert(client:cancel(candidate._tag))
        end
        local event = stage.next_event(client, "sleep 0.005")
        candidate:resign()
        same(candidate:step(event), true)
        step_until(client, candidate, function() return candidate:is_over() end)
        same(#seen, 0)
        while client:lock(name):state().locked do -- what a cancelled acquire was granted is given back
            os.execute("sleep 0.005")
        end
    end
end

function scenes.goes_on_after_an_error(url, name)
    local holder = assert(redlatch.connect(url)):lock(name)
    assert(holder:acquire())
    local client, candidate, seen = stand(url, name)
    same(candidate:failure(), nil)
    assert(client:cancel(candidate._tag)) -- stands for any error that passes
    same(candidate:step(stage.next_event(client, "sleep 0.005")), true)
    same(select(2, candidate:failure()), "cancelled")
    local sent = client:stats().scripts
    for _ = 1, 1000 do
        same(candidate:step(), false)
    end
    check(client:stats().scripts <= sent + 4, "a pause between two attempts")
    assert(holder:release())
    step_until(client, candidate, function() return candidate:is_leader() end)
    same(table.concat(seen, " "), "gain")
    same(candidate:failure(), nil, "after a grant")
    candidate:resign()
    step_until(client, candidate, function() return candidate:is_over() end)
end

function scenes.ends_by_an_error_that_lasts(url, name)
    local client = assert(redlatch.connect(url))
    local wrong = client:plain_lock(name) -- a string, where a mutex is a hash
    assert(wrong:acquire())
    local candidate = assert(client:elect(name))
    step_until(client, candidate, function() return candidate:is_over() end)
    local message, code = candidate:failure()
    check(message:find(name:sub(1, 20), 1, true), "the message names the lock")
    same(code, "wrong_type")
    assert(wrong:release())
end

-- In each state in which it waits for an event.
function scenes.the_client_is_closed(url, name)
    local holder = assert(redlatch.connect(url)):lock(name)
    assert(holder:acquire())
    local client, candidate, seen = stand(url, name)
    assert(client:close())
    same(candidate:step(), false)
    same(candidate:is_over(), true, "while it campaigned")
    client, candidate, seen = stand(url, name)
    candidate:resign()
    assert(client:close())
    candidate:resign()
    same(candidate:is_over(), true, "while it left")
    assert(holder:release())
    client, candidate, seen = stand(url, name)
    step_until(client, candidate, function() return candidate:is_leader() end)
    assert(client:close())
    same(candidate:is_leader(), false)
    same(candidate:step(), false)
    same(table.concat(seen, " "), "gain loss", "while it led")
    same(candidate:is_over(), true)
end

function scenes.a_callback_raises(url, name)
    local client = assert(redlatch.connect(url))
    for _, callbacks in ipairs {{on_gain = function() error("on purpose") end},
                                {on_loss = function() error("on purpose") end}} do
        local candidate = assert(client:elect(name, callbacks))
        stage.raises("on purpose", step_until, client, candidate, function()
            if candidate:is_leader() then
                candidate:resign()
            end
            return false
        end)
        step_until(client, candidate, function() return candidate:is_over() end)
    end
    same(client:lock(name):state().locked, false)
end

function scenes.other_events_and_misuse(url, name)
    local client, candidate = stand(url, name)
    local tag = assert(client:start_inspect(name .. "-other"))
    local taken = {}
    for _ = 1, 2 do
        local event = stage.next_event(client, "sleep 0.005")
        taken[candidate:step(event)] = event.tag
    end
    same(taken[false], tag, "the event of another call")
    candidate:resign()
    step_until(client, candidate, function() return candidate:is_over() end)
    stage.raises("on_gain is", client.elect, client, name, {on_gain = 1})
    stage.raises("there is no option", client.elect, client, name, {on_win = print})
    assert(client:close())
    stage.raises("closed", client.elect, client, name)
end

stage.play(scenes)
