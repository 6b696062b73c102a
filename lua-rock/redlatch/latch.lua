--- Latch: lets through whoever waits once it was counted down.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local counted = require "redlatch.counted"
local methods = require "redlatch.methods"
local options = require "redlatch.options"
local outcome = require "redlatch.outcome"
local started = require "redlatch.started"

--- A count-down latch by name, made by Client:latch(); Redisson's RCountDownLatch. One that was never set, was counted
--- down or was deleted is open.
---@class redlatch.Latch
---@field package _client redlatch.Client
---@field package _handle userdata
---@field package _name string
---@field package _wait_ms integer
local Latch = {}
Latch.__index = Latch
Latch.__name = "redlatch.Latch"

local latch = {}

local OF_WAIT = {timeout = true}

---@class redlatch.LatchOptions
---@field timeout? number how many seconds wait() and start_wait() wait: -1 for ever, 0 checks once; -1

function latch.new(client, name, given)
    local wait_ms = counted.wait_ms(options.check_known(given, OF_WAIT))
    local self = counted.new(Latch, core.latch_new, client, name)
    self._wait_ms = wait_ms
    return self
end

-- A count-down is by one: a number would be passed over in silence.
local function check_no_count(count)
    if count ~= nil then
        outcome.misuse("count is %s; expected none: a latch is counted down by one", outcome.shown(count))
    end
end

--- Closes the latch until it has been counted down so often, unless it is closed already: then false.
---@param count integer 1 or more
---@return boolean? set, string? message, string? code
function Latch:try_set_count(count)
    return counted.flag(core.latch_try_set_count(self._handle, options.amount(count, "count", 1)))
end

--- Counts down by one. At zero the latch is open; of an open one it changes nothing.
---@param count? nil is refused: it is one
---@return true? done, string? message, string? code
function Latch:count_down(count)
    check_no_count(count)
    local status, message = core.latch_count_down(self._handle)
    return outcome.result(status, message)
end

--- Asks the server what is left to be counted down: 0 when the latch is open.
---@return integer? count, string? message, string? code
function Latch:count()
    return counted.number(core.latch_count(self._handle))
end

--- Waits until the latch is open.
---@param given? {timeout: number?} seconds to wait: -1 for ever, 0 checks once; the latch's
---@return true? open, string? message, string? code "timeout" if it was closed all the time
function Latch:wait(given)
    local wait_ms = counted.wait_ms(options.check_known(given, OF_WAIT), self._wait_ms)
    local status, message = core.lua_wait_latch(self._handle, wait_ms)
    return outcome.result(status, message)
end

--- Deletes the latch, which opens it for who waits with redlatch; false if it was open.
---@return boolean? deleted, string? message, string? code
function Latch:delete()
    return counted.flag(core.latch_delete(self._handle))
end

--- Starts a wait and returns at once. Its event is "opened".
---@param given? {timeout: number?}
---@return integer? tag, string? message, string? code
function Latch:start_wait(given)
    local wait_ms = counted.wait_ms(options.check_known(given, OF_WAIT), self._wait_ms)
    return started.begin(self._client, {object = self, field = "latch"}, core.latch_start_wait, wait_ms)
end

--- Starts a count-down and returns at once. Its event is "counted".
---@param count? nil is refused: it is one
---@return integer? tag, string? message, string? code
function Latch:start_count_down(count)
    check_no_count(count)
    return started.begin(self._client, {object = self, field = "latch"}, core.latch_start_count_down)
end

local function start(self, value, call, ...)
    return started.begin(self._client, {object = self, field = "latch", value = value}, call, ...)
end

--- Starts try_set_count() and returns at once. Its event is "answered", with what that returns as `value`, as are those
--- of the next two.
---@param count integer 1 or more
---@return integer? tag, string? message, string? code
function Latch:start_try_set_count(count)
    return start(self, counted.flag_of, core.latch_start_try_set_count, (options.amount(count, "count", 1)))
end

--- Starts count() and returns at once.
---@return integer? tag, string? message, string? code
function Latch:start_count()
    return start(self, counted.number_of, core.latch_start_count)
end

--- Starts delete() and returns at once.
---@return integer? tag, string? message, string? code
function Latch:start_delete()
    return start(self, counted.flag_of, core.latch_start_delete)
end

--- The name as it was given, without the client's prefix.
---@return string
function Latch:name()
    return self._name
end

function Latch:__tostring()
    return string.format("redlatch.Latch %q", self._name)
end

methods.guard(Latch, "latch")

return latch
