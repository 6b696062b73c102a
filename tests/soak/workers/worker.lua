--- The worker in Lua: one thread that takes its turns until the end.
--
--     worker.lua URL,URL,URL HISTORY PLAN LABEL END
--
-- The plan is described in tests/soak/README.md; END is in nanoseconds of uv.hrtime(), which is CLOCK_MONOTONIC.
-- SPDX-License-Identifier: Apache-2.0

local cjson = require "cjson"
local redlatch = require "redlatch"
local takers = require "takers"
local uv = require "luv"
local witness = require "witness"

local urls, history_path, plan_path, label, the_end = arg[1], arg[2], arg[3], arg[4], math.tointeger(arg[5])

local STEP_MS = 100 -- a long hold is queried this often
local RETRY_MS = 20 -- pause after a failure, when an immediate retry would fail, too
local RESOLVED_MS = 4000 -- commands in progress end within this time

-- --------------------------------------------------------------------------------------------------- history --

local history = assert(io.open(history_path, "a"))
history:setvbuf("full", 65536) -- so that the flush writes each line by one call

local function say(what, id, facts)
    facts = facts or {}
    facts.t, facts["do"], facts.id = facts.t or uv.hrtime(), what, id
    history:write(cjson.encode(facts), "\n")
    history:flush()
    return facts.t
end

-- ------------------------------------------------------------------------------------------------------ plan --

local plan = {kinds = {}, members = {}, turns = {}}

local function read_kind(words)
    local kind = {name = words[2], shape = words[3], word = words[4], options = {}}
    for index = 5, #words do
        local option, value = words[index]:match("^(.-)=(%d+)$")
        kind.options[option] = math.tointeger(value)
    end
    plan.kinds[#plan.kinds + 1] = kind
end

for line in io.lines(plan_path) do
    local words = {}
    for word in line:gmatch("%S+") do
        words[#words + 1] = word
    end
    if words[1] == "client" then
        plan.lease, plan.command_timeout = words[2] / 1000, words[3] / 1000
    elseif words[1] == "kind" then
        read_kind(words)
    elseif words[1] == "member" then
        plan.members[words[2]] = {word = words[3], reentrant = words[4] ~= "0"}
    elseif words[1] == "witness" then
        witness.add(words[2], words[3], words[4], words[5])
    elseif words[1] == "turn" then
        plan.turns[#plan.turns + 1] = {
            kind = plan.kinds[words[2] + 1], name = words[3], wait = math.tointeger(words[4]),
            lease = math.tointeger(words[5]), hold = words[6] / 1e6, gap = words[7] / 1e6,
            levels = math.tointeger(words[8]), backwards = words[7] % 2 == 1, members = plan.members,
        }
    end
end

local function pause(duration)
    if duration > 0 then
        uv.sleep(math.floor(duration * 1000 + 0.5))
    end
end

-- ----------------------------------------------------------------------------------------------------- turns --

local function hold(turn, id, taker)
    for _ = 2, taker.again and turn.levels or 1 do
        if not taker:again() then
            say("lost", id)
        end
    end
    local left = turn.hold
    while left > 0 do
        pause(math.min(left, STEP_MS / 1000))
        left = left - STEP_MS / 1000
        if left > 0 then
            local at = uv.hrtime()
            local safe = taker:safe()
            say(safe > 0 and "still" or "lost", id, {t = at, ["until"] = at + safe})
        end
    end
    if taker.leave_inner then
        taker:leave_inner()
    end
end

-- Returns the turn's name, with the number of the current epoch if its kind has epochs.
local function name_of(turn)
    local epoch_ms = turn.kind.options.epoch_ms
    return epoch_ms and string.format("%s:%d", turn.name, uv.hrtime() // (epoch_ms * 1000000)) or turn.name
end

local function play(clients, turn, id)
    local name = name_of(turn)
    local taker = takers.of(clients, turn, name)
    if taker.prepare and not taker:prepare(function(what, facts)
        facts.name = name
        say(what, id, facts)
    end) then
        return
    end
    say("ask", id, {kind = turn.kind.name, name = name, wait = turn.wait, lease = turn.lease, n = taker.n})
    local taken, code = taker:take()
    if not taken then
        say("not", id, {why = code})
        pause(code == "timeout" and 0 or RETRY_MS / 1000)
        return
    end
    local got = uv.hrtime()
    local facts = taker:facts()
    facts.t, facts["until"] = got, got + taker:safe()
    say("got", id, facts)
    if taker.give then
        local sections = witness.enter(turn.kind.name, name, function(of, since)
            say("clash", id, {name = of, since = since})
        end)
        hold(turn, id, taker)
        witness.leave(sections)
        say("give", id)
        say("gave", id, {why = taker:give()})
    end
end

say("born", "", {process = label, language = "lua"})
local clients = {}
for url in urls:gmatch("[^,]+") do
    -- A server may be down when a process is started in place of a killed one, so clients are lazy.
    clients[#clients + 1] = assert(redlatch.connect(url, {
        watchdog_lease = plan.lease, fair_timeout = plan.lease, command_timeout = plan.command_timeout, lazy = true,
    }))
end
local number = 0
local at = 37 * math.tointeger(label:match("%d+$")) -- a new incarnation begins elsewhere in its plan
while uv.hrtime() < the_end do
    local turn = plan.turns[(at + number) % #plan.turns + 1]
    number = number + 1
    play(clients, turn, string.format("%s.0.%d", label, number))
    pause(turn.gap)
end

-- Returns the holds and waits that the clients still have. Waits until commands in progress have ended.
local function remains()
    local left
    for _ = 1, RESOLVED_MS / RETRY_MS do
        left = {held = 0, waiters = 0}
        for _, client in ipairs(clients) do
            local stats = client:stats()
            left.held, left.waiters = left.held + stats.held, left.waiters + stats.waiters
        end
        if left.held + left.waiters == 0 then
            break
        end
        pause(RETRY_MS / 1000)
    end
    return left
end

local left = remains()
for _, client in ipairs(clients) do
    client:close()
end
say("ended", "", left)
