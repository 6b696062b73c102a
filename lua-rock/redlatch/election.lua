--- Election: one of many candidates, in any processes, is the leader. Client:elect() makes a candidate.
--
-- The leader holds a mutex that is renewed. A candidate is driven by the events of its client, so it never blocks:
--
--     state        on the server         what ends it
--     campaigning  waits for the mutex   its grant: on_gain(), leading. Its failure: pausing, or over if trying again
--                                        does not help. resign(): leaving
--     pausing      nothing               step(), 1 to 2 s later: campaigning. resign(): over
--     leading      holds the mutex       its loss: on_loss(), clearing. resign(): on_loss(), leaving
--     clearing     nothing               the event of the release of the lost hold: campaigning. resign(): leaving
--     leaving      may hold the mutex    the event of the wait or of the release: over
--     over         nothing               -
--
-- A closed client ends each state at the next step(): on_loss() if the candidate led, over. A callback that raises an
-- error ends the candidacy, too: leaving. The error is raised again for the caller.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local lock = require "redlatch.lock"
local methods = require "redlatch.methods"
local options = require "redlatch.options"

---@class redlatch.ElectionOptions
---@field on_gain? fun() called when the candidate becomes the leader
---@field on_loss? fun() called when it is the leader no longer: the lock was lost, or the candidate resigns

--- A candidate, until it resigns. It may become the leader, lose the lock and become the leader again.
---@class redlatch.Election
---@field package _client redlatch.Client
---@field package _lock redlatch.Lock
---@field package _on_gain fun()
---@field package _on_loss fun()
---@field package _state "campaigning"|"pausing"|"leading"|"clearing"|"leaving"|"over"
---@field package _tag integer? the tag of the started call whose event is still to come
---@field package _hold redlatch.Hold?
---@field package _failed_at integer? when the last attempt failed, by os.time()
---@field package _failure {[1]: string, [2]: string}? message and code of the last error; nil after a grant
local Election = {}
Election.__index = Election
Election.__name = "redlatch.Election"

local election = {}

local OF_ELECTION = {on_gain = true, on_loss = true}
-- Errors that do not go away by themselves.
local LASTING = {wrong_type = true}

local function nothing()
end

local function callback(value, name)
    if value == nil then
        return nothing
    end
    options.check_callable(value, name)
    return value
end

local function failed(self, message, code)
    self._state, self._failed_at, self._failure = "pausing", os.time(), {message, code}
    if LASTING[code] then
        self._state = "over"
    end
end

local function campaign(self)
    local tag, message, code = self._lock:start_acquire()
    self._state, self._tag = "campaigning", tag
    if not tag then
        failed(self, message, code)
    end
    return tag, message, code
end

-- Starts the release of the hold, lost or not, and sets the state. If the call cannot be started, step() tries again.
local function start_release(self, state)
    self._hold, self._state = nil, state
    self._tag = self._lock:start_release()
end

-- Calls a callback. If it raises an error, the candidacy ends, and the error is raised again for the caller.
local function call(self, given)
    local good, failure = pcall(given)
    if not good then
        if self._state == "leading" then
            start_release(self, "leaving")
        elseif self._state == "clearing" then
            self._state = "leaving"
        end
        error(failure, 0)
    end
end

local function granted(self)
    local message, code
    self._hold, message, code = self._lock:held()
    if not self._hold then
        return failed(self, message, code)
    end
    self._state, self._failure = "leading", nil
    call(self, self._on_gain)
end

-- Handles the event of the started call.
local function finished(self, event)
    local state = self._state
    self._tag = nil
    if state == "campaigning" then
        if event.ok then
            granted(self)
        elseif event.code == "lost" then -- granted, and lost before its event was collected
            start_release(self, "clearing")
        else
            failed(self, event.message, event.code)
        end
    elseif state == "clearing" then
        campaign(self)
    elseif event.kind == "acquired" and (event.ok or event.code == "lost") then -- granted as it resigned
        start_release(self, "leaving")
    else
        self._state = "over"
    end
end

-- Returns whether the client is closed. If so, ends the candidacy.
local function has_closed(self)
    if not self._client:closed() then
        return false
    end
    local led = self._state == "leading"
    self._state = "over"
    if led then
        self._on_loss()
    end
    return true
end

-- Starts again what failed: an acquire after the pause, or a release that could not be started.
local function retry(self)
    local state = self._state
    if state == "pausing" and math.abs(os.time() - self._failed_at) > 1 then
        campaign(self)
    elseif (state == "clearing" or state == "leaving") and not self._tag then
        start_release(self, state)
    end
end

function election.new(client, name, given)
    given = options.check_known(given, OF_ELECTION)
    local self = setmetatable({
        _client = client,
        _on_gain = callback(given.on_gain, "on_gain"),
        _on_loss = callback(given.on_loss, "on_loss"),
        _lock = lock.new(client, core.MUTEX, name),
    }, Election)
    local done, message, code = client:event_fd() -- from now on a loss is an event
    if done then
        done, message, code = campaign(self)
    end
    if not done then
        return nil, message, code
    end
    return self
end

--- Hands an event of the client to the candidate. Call it with each event. Call it also without one about once a
--- second: then the candidate tries again 1 to 2 s after an error. It never blocks. It calls on_gain and on_loss. If
--- one of them raises an error, the candidacy ends, and the error is raised again. In PUC Lua 5.1 they may not yield.
---@param event? redlatch.Event|false
---@return boolean taken whether the event was that of this candidate
function Election:step(event)
    if has_closed(self) then
        return false
    end
    if not event then
        retry(self)
        return false
    end
    if event.tag and event.tag == self._tag then
        finished(self, event)
        return true
    end
    if event.kind == "lost" and self._state == "leading" and event.serial == self._hold:serial() then
        start_release(self, "clearing")
        call(self, self._on_loss)
        return true
    end
    return false
end

--- Returns whether this candidate leads, as far as this process knows. It is false as soon as the safe time is over. No
--- command is sent.
---@return boolean
function Election:is_leader()
    return self._state == "leading" and self._hold:remaining() > 0
end

--- Queries who leads: a party as of a report, with host and process if it is a redlatch client; false if nobody leads.
--- It blocks for a round trip.
---@return redlatch.Party|false|nil leader, string? message, string? code
function Election:leader()
    local report, message, code = self._client:inspect(self._lock:name())
    if not report then
        return nil, message, code
    end
    local first = report.parties[1]
    return first and first.role == "holder" and first or false
end

--- Ends the candidacy: calls on_loss if the candidate leads, then starts the release. Returns at once. The candidacy is
--- over when step() has had the event of the release. Resigning twice is harmless.
function Election:resign()
    local state = self._state
    if has_closed(self) then
        return
    end
    if state == "leading" then
        self._state = "leaving"
        local good, failure = pcall(self._on_loss) -- before the release, after which the next leader may begin
        start_release(self, "leaving")
        if not good then
            error(failure, 0)
        end
    elseif state == "campaigning" then
        self._state = "leaving"
        if self._client._started[self._tag] then -- else its event is collected, and step() is still to get it
            self._client:cancel(self._tag)
        end
    elseif state == "clearing" then
        self._state = "leaving"
    elseif state == "pausing" then
        self._state = "over"
    end
end

--- Returns whether the candidacy has ended. Then it holds nothing on the server, or the client goes on in the
--- background with a release that failed.
---@return boolean
function Election:is_over()
    return self._state == "over"
end

--- Returns the last failure, nil if there was none since the candidate last led.
---@return string? message, string? code
function Election:failure()
    if self._failure then
        return self._failure[1], self._failure[2]
    end
end

function Election:__tostring()
    return string.format("redlatch.Election %q (%s)", self._lock:name(), self._state)
end

methods.guard(Election, "election")

return election
