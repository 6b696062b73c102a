--- The worker in Lua: one thread that takes its turns until the end.
--
--     worker.lua URL HISTORY PLAN LABEL END
--
-- The plan is described in tests/soak/README.md; END is in nanoseconds of uv.hrtime(), which is CLOCK_MONOTONIC.
-- SPDX-License-Identifier: Apache-2.0

local cjson = require "cjson"
local redlatch = require "redlatch"
local uv = require "luv"

local url, history_path, plan_path, label, the_end = arg[1], arg[2], arg[3], arg[4], math.tointeger(arg[5])

local LOOK_MS = 100 -- a hold that lasts is looked at this often
local RETRY_MS = 20 -- after a failure nothing is gained by asking again at once

-- --------------------------------------------------------------------------------------------------- history --

local history = assert(io.open(history_path, "a"))
history:setvbuf("full", 65536) -- so that each line is written by one call, the flush

local function say(what, id, facts)
    facts = facts or {}
    facts.t, facts["do"], facts.id = facts.t or uv.hrtime(), what, id
    history:write(cjson.encode(facts), "\n")
    history:flush()
    return facts.t
end

-- ------------------------------------------------------------------------------------------------------ plan --

local plan = {kinds = {}, turns = {}}

local function read_kind(words)
    local kind = {name = words[2], shape = words[3], maker = words[4], options = {}}
    for index = 5, #words do
        local option, value = words[index]:match("^(.-)=(%d+)$")
        kind.options[option] = value ~= "0"
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
    elseif words[1] == "turn" then
        plan.turns[#plan.turns + 1] = {
            kind = plan.kinds[words[2] + 1], name = words[3], wait = math.tointeger(words[4]),
            lease = math.tointeger(words[5]), hold = words[6] / 1e6, gap = words[7] / 1e6,
            levels = math.tointeger(words[8]),
        }
    end
end

-- Seconds of a plan's milliseconds, of which -1 stays what it is.
local function seconds(milliseconds)
    return milliseconds < 0 and -1 or milliseconds / 1000
end

local function pause(duration)
    if duration > 0 then
        uv.sleep(math.floor(duration * 1000 + 0.5))
    end
end

-- ---------------------------------------------------------------------------------------------------- shapes --

-- By shape: make(client, turn) gives what take(), safe(), again() and give() are called on.
local shapes = {}

local Lock = {n = 1}
Lock.__index = Lock

local function lock_taker(object, turn)
    return setmetatable({object = object, terms = {timeout = seconds(turn.wait), lease = seconds(turn.lease)}}, Lock)
end

function shapes.lock(client, turn)
    local maker, side = turn.kind.maker:match("^([^.]+)%.?(.*)$")
    local object = client[maker](client, turn.name, turn.kind.options)
    return lock_taker(side == "" and object or object[side], turn)
end

-- Values of a group: "group/a+group/b".
function shapes.group(client, turn)
    local group, values = turn.name:match("^[^/]+"), {}
    for value in turn.name:gmatch("/([^+]+)") do
        values[#values + 1] = value
    end
    return lock_taker(client:group_lock(group, values), turn)
end

-- Several locks at once: "one+other".
function shapes.multi(client, turn)
    local members = {}
    for name in turn.name:gmatch("[^+]+") do
        members[#members + 1] = client:lock(name)
    end
    return lock_taker(client:multi_lock(members), turn)
end

function Lock:take()
    local held, _, code = self.object:hold(self.terms)
    self.held = held
    return held, code
end

function Lock:facts()
    return {token = self.held:token() or 0, owner = self.held:owner()}
end

function Lock:safe()
    return math.floor(self.held:remaining() * 1e9)
end

function Lock:again()
    local held, _, code = self.object:try_acquire {lease = self.terms.lease}
    self.inner = (self.inner or 0) + (held and 1 or 0)
    return code ~= "lost"
end

function Lock:leave_inner()
    for _ = 1, self.inner or 0 do
        self.object:release()
    end
end

function Lock:give()
    local done, _, code = self.object:release()
    return done and "ok" or code
end

-- ----------------------------------------------------------------------------------------------------- turns --

local function hold(turn, id, taker)
    for _ = 2, turn.levels do
        if taker.again and not taker:again() then
            say("lost", id)
        end
    end
    local left = turn.hold
    while left > 0 do
        pause(math.min(left, LOOK_MS / 1000))
        left = left - LOOK_MS / 1000
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

local function play(client, turn, id)
    local taker = shapes[turn.kind.shape](client, turn)
    say("ask", id, {kind = turn.kind.name, name = turn.name, wait = turn.wait, lease = turn.lease, n = taker.n})
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
    hold(turn, id, taker)
    say("give", id)
    say("gave", id, {why = taker:give()})
end

say("born", "", {process = label, language = "lua"})
-- Lazy: the server may be down when a process is started in the place of a killed one.
local client = assert(redlatch.connect(url, {
    watchdog_lease = plan.lease, fair_timeout = plan.lease, command_timeout = plan.command_timeout, lazy = true,
}))
local number = 0
local at = 37 * math.tointeger(label:match("%d+$")) -- a new incarnation goes on elsewhere in its plan
while uv.hrtime() < the_end do
    local turn = plan.turns[(at + number) % #plan.turns + 1]
    number = number + 1
    play(client, turn, string.format("%s.0.%d", label, number))
    pause(turn.gap)
end
client:close()
say("ended", "")
