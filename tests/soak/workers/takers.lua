--- The takers of the worker in Lua, by shape: one acquire with everything that belongs to it.
--
-- takers.of(clients, turn, name) makes a taker. It has these functions:
--
--     prepare(tell)   does what comes before the acquire, such as counting down; false if the turn has ended with that
--     take()          acquires; or returns nil and the reason
--     facts()         returns what identifies the grant
--     safe()          returns for how many nanoseconds from a moment just passed the hold is safe; 0 if it is lost
--     again()         acquires one more level; false if the hold was found lost
--     leave_inner()   releases all inner levels
--     give()          releases; returns "ok", or the reason
--
-- prepare is absent if nothing comes before the acquire, again and leave_inner if there are no levels, give if there is
-- nothing to release. `n` is the number of permits, 1 for a lock.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"

local ENDLESS = 1000000000000000 -- more nanoseconds than any run lasts

-- Functions that make takers, by shape.
local shapes = {}

-- Converts milliseconds of a plan to seconds. -1 stays -1.
local function seconds(milliseconds)
    return milliseconds < 0 and -1 or milliseconds / 1000
end

local function outcome(done, _, code)
    return done and "ok" or code
end

-- ----------------------------------------------------------------------------------------------------- locks --

local Lock = {n = 1}
Lock.__index = Lock

local function lock_taker(object, turn)
    return setmetatable({object = object, terms = {timeout = seconds(turn.wait), lease = seconds(turn.lease)}}, Lock)
end

-- Returns a lock made by a method of a client. If `word` has a dot, returns the member behind it.
local function lock_of(client, word, name, options)
    local maker, side = word:match("^([^.]+)%.?(.*)$")
    local object = client[maker](client, name, options)
    return side == "" and object or object[side]
end

function shapes.lock(clients, turn, name)
    local options = {}
    for option, value in pairs(turn.kind.options) do
        options[option] = value ~= 0
    end
    return lock_taker(lock_of(clients[1], turn.kind.word, name, options), turn)
end

-- Values of a group lock: "group/a+group/b".
function shapes.group(clients, turn, name)
    local group, values = name:match("^[^/]+"), {}
    for value in name:gmatch("/([^+]+)") do
        values[#values + 1] = value
    end
    return lock_taker(clients[1]:group_lock(group, values), turn)
end

-- Several locks at once, with the numbers of their servers: "one+other@2". Every other turn acquires them in the
-- opposite order.
function shapes.multi(clients, turn, name)
    local members = {}
    for member in name:gmatch("[^+]+") do
        local of, server = member:match("^([^@]+)@?(.*)$")
        local kind = turn.members[of] or {word = "lock", reentrant = true}
        local options = not kind.reentrant and {reentrant = false} or nil
        local lock = lock_of(clients[(math.tointeger(server) or 0) + 1], kind.word, of, options)
        table.insert(members, turn.backwards and 1 or #members + 1, lock)
    end
    return lock_taker(redlatch.multi_lock(members), turn)
end

function shapes.redlock(clients, turn, name)
    local members = {}
    for server, client in ipairs(clients) do
        members[server] = client:lock(name)
    end
    return lock_taker(redlatch.redlock(members), turn)
end

function Lock:take()
    local held, _, code = self.object:acquire_hold(self.terms)
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
    return outcome(self.object:release())
end

-- ------------------------------------------------------------------------------------------------ semaphores --

local Semaphore = {}
Semaphore.__index = Semaphore

-- The first turn creates the semaphore. If its call fails, another turn does it.
local function semaphore_taker(class, clients, turn, name)
    local object = clients[1][turn.kind.word](clients[1], name)
    object:try_set_permits(turn.kind.options.permits)
    return setmetatable({object = object, turn = turn, n = turn.levels}, class)
end

function shapes.semaphore(clients, turn, name)
    return semaphore_taker(Semaphore, clients, turn, name)
end

function Semaphore:take()
    local done, _, code = self.object:acquire {permits = self.n, timeout = seconds(self.turn.wait)}
    return done, code
end

function Semaphore:facts() -- luacheck: ignore 212/self
    return {}
end

function Semaphore:safe() -- luacheck: ignore 212/self
    return ENDLESS
end

function Semaphore:give()
    return outcome(self.object:release(self.n))
end

-- ------------------------------------------------------------------------------------------ permits with ids --

local Permits = {}
Permits.__index = Permits

function shapes.permits(clients, turn, name)
    return semaphore_taker(Permits, clients, turn, name)
end

function Permits:take()
    local terms = {timeout = seconds(self.turn.wait), lease = seconds(self.turn.lease)}
    local permits, _, code = self.object:acquire_many(self.n, terms)
    self.permits = permits
    return permits, code
end

function Permits:facts()
    local ids = {}
    for place, permit in ipairs(self.permits) do
        ids[place] = permit:id()
    end
    return {ids = ids}
end

function Permits:safe()
    local least = math.huge
    for _, permit in ipairs(self.permits) do
        least = math.min(least, permit:remaining())
    end
    return math.floor(least * 1e9)
end

function Permits:give()
    local first_failure = "ok"
    for _, permit in ipairs(self.permits) do
        local came = outcome(permit:release())
        first_failure = first_failure == "ok" and came or first_failure
    end
    return first_failure
end

-- --------------------------------------------------------------------------------------------------- latches --

local Latch = {n = 1}
Latch.__index = Latch

function shapes.latch(clients, turn, name)
    return setmetatable({object = clients[1]:latch(name), turn = turn}, Latch)
end

-- Closes the latch if it is open. Then counts it down and returns false, or returns true if the turn is to wait.
function Latch:prepare(tell)
    local count = self.turn.kind.options.count
    if self.object:try_set_count(count) then
        tell("set", {n = count})
    end
    if self.turn.levels > 1 then
        return true
    end
    tell("counting", {})
    self.object:count_down()
    return false
end

function Latch:take()
    local done, _, code = self.object:wait {timeout = seconds(self.turn.wait)}
    return done, code
end

function Latch:facts() -- luacheck: ignore 212/self
    return {}
end

-- A wait that was let through is no hold.
function Latch:safe() -- luacheck: ignore 212/self
    return 0
end

-- ------------------------------------------------------------------------------------------------------------ --

local takers = {}

function takers.of(clients, turn, name)
    return shapes[turn.kind.shape](clients, turn, name)
end

return takers
