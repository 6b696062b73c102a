--- Latch: its waiters go on when it was counted down to zero.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local counted = require "redlatch.counted"
local methods = require "redlatch.methods"
local options = require "redlatch.options"
local outcome = require "redlatch.outcome"
local started = require "redlatch.started"

--- A count-down latch, made by Client:latch(); Redisson's RCountDownLatch. It is open if it was never set, was counted
--- down to zero or was deleted.
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
---@field timeout? number seconds that wait() and start_wait() wait: -1 for ever, 0 checks once; default: -1

function latch.new(client, name, given)
    local wait_ms = counted.wait_ms(options.check_known(given, OF_WAIT))
    local self = counted.new(Latch, core.latch_new, client, name)
    self._wait_ms = wait_ms
    return self
end

-- Refuses a number, which would otherwise be ignored: a count-down is by one.
local function check_no_count(count)
    if count ~= nil then
        outcome.misuse("count is %s; expected none: a latch is counted down by one", outcome.shown(count))
    end
end

--- Closes the latch until it is counted down this often. Returns false if it is closed already.
---@param count integer 1 or more
---@return boolean? set, string? message, string? code
function Latch:try_set_count(count)
    return counted.flag(core.latch_try_set_count(self._handle, options.amount(count, "count", 1)))
end

--- Counts down by one. At zero the latch is open. An open latch stays unchanged.
---@param count? nil any other value is refused
---@return true? done, string? message, string? code
function Latch:count_down(count)
    check_no_count(count)
    local status, message = core.latch_count_down(self._handle)
    return outcome.result(status, message)
end

--- Queries the remaining count: 0 if the latch is open.
---@return integer? count, string? message, string? code
function Latch:count()
    return counted.number(core.latch_count(self._handle))
end

--- Waits until the latch is open.
---@param given? {timeout: number?} seconds to wait: -1 for ever, 0 checks once; default: the latch's
---@return true? open, string? message, string? code "timeout" if it was closed all the time
function Latch:wait(given)
    local wait_ms = counted.wait_ms(options.check_known(given, OF_WAIT), self._wait_ms)
    local status, message = core.lua_wait_latch(self._handle, wait_ms)
    return outcome.result(status, message)
end

--- Deletes the latch, which opens it for waiters of redlatch. Returns false if there was none.
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
---@param count? nil any other value is refused
---@return integer? tag, string? message, string? code
function Latch:start_count_down(count)
    check_no_count(count)
    return started.begin(self._client, {object = self, field = "latch"}, core.latch_start_count_down)
end

local function start(self, value, call, ...)
    return started.begin(self._client, {object = self, field = "latch", value = value}, call, ...)
end

--- Starts try_set_count() and returns at once. Its event is "answered", with the result of try_set_count() as `value`.
--- The same is true of the start functions below.
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

--- Returns the name as it was given, without the client's prefix.
---@return string
function Latch:name()
    return self._name
end

function Latch:__tostring()
    return string.format("redlatch.Latch %q", self._name)
end

methods.guard(Latch, "latch")

return latch
