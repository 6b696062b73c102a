--- Permit: one permit of a permit semaphore, until it is released or lost.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local methods = require "redlatch.methods"
local options = require "redlatch.options"
local outcome = require "redlatch.outcome"
local started = require "redlatch.started"

--- What PermitSemaphore:acquire() returns. A permit that is dropped without a release stays taken, since another
--- process may know its id: until it is released by that, its lease is over, or the client ends.
---@class redlatch.Permit
---@field package _semaphore redlatch.PermitSemaphore
---@field package _serial integer|string
---@field package _id string
---@field package _state {lost: boolean, reason: integer?} in which the client notes a loss
---@field package _released boolean through this object
local Permit = {}
Permit.__index = Permit
Permit.__name = "redlatch.Permit"

local permit = {}

-- How a permit stands, as far as this process knows.
local function standing(semaphore, serial)
    local status, record = core.permit_semaphore_permit_status(semaphore._handle, serial)
    if status ~= core.OK then
        return outcome.failure(status, record)
    end
    return record
end

--- The permit of a serial.
---@return redlatch.Permit? permit, string? message, string? code
function permit.new(semaphore, serial)
    local record, message, code = standing(semaphore, serial)
    if not record then
        return nil, message, code
    end
    local state = {lost = false}
    semaphore._client._states[serial] = state
    return setmetatable({
        _semaphore = semaphore,
        _serial = serial,
        _id = record.id,
        _state = state,
        _released = false,
    }, Permit)
end

--- Whether a value is a permit.
function permit.is_one(value)
    return getmetatable(value) == Permit
end

--- The id of a permit, or the id itself.
---@return string
function permit.id_of(value)
    if permit.is_one(value) then
        return value._id
    end
    if type(value) ~= "string" then
        outcome.misuse("permit is %s, a %s; expected a permit, or the id of one as a string", outcome.shown(value),
            type(value))
    end
    return options.check_text(value, "id")
end

--- Starts a call on the permit of an id.
---@return integer? tag, string? message, string? code
function permit.start(semaphore, call, id, ...)
    return started.begin(semaphore._client, {object = semaphore, field = "semaphore"}, call, id, ...)
end

--- The id by which any process may release it: 32 hexadecimal digits.
---@return string
function Permit:id()
    return self._id
end

--- Names this permit, and nothing else, in events.
---@return integer|string
function Permit:serial()
    return self._serial
end

-- What is said of a permit that is no longer there.
local function over(self)
    return outcome.failure(core.NOT_OWNED, string.format("permit %s of semaphore %q was released before", self._id,
        self._semaphore._name))
end

-- Notes a loss, and passes on how the call went.
local function result(self, status, message, reason)
    if status == core.LOST then
        self._state.lost, self._state.reason = true, reason
    end
    return outcome.result(status, message, reason)
end

--- Gives the permit back, once.
---@return true? released, string? message, string? code "lost" if its lease was over, "not_owned" if it was released
---before
function Permit:release()
    if self._released then
        return over(self)
    end
    self._released = true
    return result(self, core.permit_semaphore_release(self._semaphore._handle, self._id))
end

--- Lets the lease end so many seconds from now, also if that is sooner than it was. One that is renewed goes on being
--- renewed.
---@param seconds number
---@return true? extended, string? message, string? code
function Permit:extend(seconds)
    local lease_ms = options.span(seconds, "seconds")
    if self._released then
        return over(self)
    end
    return result(self, core.permit_semaphore_update_lease(self._semaphore._handle, self._id, lease_ms))
end

--- Seconds for which nobody else can have the permit, as far as is known; 0 when it is over. Nothing is sent.
---@return number
function Permit:remaining()
    local now = standing(self._semaphore, self._serial)
    return now and now.remaining_ms / 1000 or 0
end

--- Whether the permit ended without being released, and why: its time ran out, or the server forgot it. Nothing is
--- sent.
---@return boolean lost, "expired"|"missing"|"max_hold"|nil reason
function Permit:lost()
    local now = standing(self._semaphore, self._serial)
    if now and now.state == core.GONE then
        self._state.lost, self._state.reason = true, now.reason
    end
    return self._state.lost, outcome.reason(self._state.reason)
end

--- Starts a release and returns at once. Its event is "released".
---@return integer? tag, string? message, string? code
function Permit:start_release()
    if self._released then
        return over(self)
    end
    local what = {object = self._semaphore, field = "semaphore"}
    local tag, message, code = started.begin(self._semaphore._client, what, core.permit_semaphore_start_release,
        self._serial)
    self._released = tag ~= nil
    return tag, message, code
end

--- Starts extend() and returns at once. Its event is "extended".
---@param seconds number
---@return integer? tag, string? message, string? code
function Permit:start_extend(seconds)
    local lease_ms = options.span(seconds, "seconds")
    if self._released then
        return over(self)
    end
    return permit.start(self._semaphore, core.permit_semaphore_start_update_lease, self._id, lease_ms)
end

--- Lua 5.4 calls this at the end of the block of `local permit <close>`. An error of the block is never hidden.
function Permit:__close(failure)
    if self._released then
        return
    end
    local done, message = self:release()
    if not done and failure == nil then
        error("redlatch: " .. message, 0)
    end
end

function Permit:__tostring()
    return string.format("redlatch.Permit %s of %q", self._id, self._semaphore._name)
end

methods.guard(Permit, "permit")

return permit
