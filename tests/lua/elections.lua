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
    local client, candidate, seen = stand(url, name)
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
    same(lock:state().locked, false)
end

function scenes.goes_on_after_an_error(url, name)
    local admin = assert(redlatch.connect(url))
    local wrong = admin:plain_lock(name) -- a string, where a mutex is a hash
    assert(wrong:acquire())
    local client, candidate, seen = stand(url, name)
    local event = stage.next_event(client, "sleep 0.005")
    same(event.code, "wrong_type")
    same(candidate:step(event), true)
    same(candidate:step(), false, "which campaigns again")
    same(candidate:step(stage.next_event(client, "sleep 0.005")), true)
    assert(wrong:release())
    step_until(client, candidate, function() return candidate:is_leader() end)
    same(table.concat(seen, " "), "gain")
    candidate:resign()
    step_until(client, candidate, function() return candidate:is_over() end)
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
    local failing = assert(client:elect(name, {on_loss = function() error("on purpose") end}))
    step_until(client, failing, function() return failing:is_leader() end)
    stage.raises("on purpose", failing.resign, failing)
    step_until(client, failing, function() return failing:is_over() end)
    assert(client:close())
    stage.raises("closed", client.elect, client, name)
end

stage.play(scenes)
