--- Permit: one permit of a permit semaphore, until it is released or lost.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local methods = require "redlatch.methods"
local options = require "redlatch.options"
local outcome = require "redlatch.outcome"
local started = require "redlatch.started"

--- A permit, which PermitSemaphore:acquire() returns. If the object is collected without a release, the permit stays in
--- use, because another process may know its id: until that releases it, its lease is over, or the client ends.
---@class redlatch.Permit
---@field package _semaphore redlatch.PermitSemaphore
---@field package _serial integer|string
---@field package _id string
---@field package _state {lost: boolean, reason: integer?} in which the client notes a loss
---@field package _released boolean whether this object released it
local Permit = {}
Permit.__index = Permit
Permit.__name = "redlatch.Permit"

local permit = {}

-- Returns the core's record of a permit, as far as this process knows.
local function standing(semaphore, serial)
    local status, record = core.permit_semaphore_permit_status(semaphore._handle, serial)
    if status ~= core.OK then
        return outcome.failure(status, record)
    end
    return record
end

--- Returns the permit that has this serial.
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

--- Returns whether a value is a permit.
function permit.is_one(value)
    return getmetatable(value) == Permit
end

--- Returns the id of a permit, or the id itself.
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

--- Starts a call on the permit that has this id.
---@return integer? tag, string? message, string? code
function permit.start(semaphore, call, id, ...)
    return started.begin(semaphore._client, {object = semaphore, field = "semaphore"}, call, id, ...)
end

--- Returns the id by which any process may release it: 32 hexadecimal digits.
---@return string
function Permit:id()
    return self._id
end

--- Returns the serial, which names this permit, and nothing else, in events.
---@return integer|string
function Permit:serial()
    return self._serial
end

-- Returns the failure of a call on a permit that was released.
local function over(self)
    return outcome.failure(core.NOT_OWNED, string.format("permit %s of semaphore %q was released before", self._id,
        self._semaphore._name))
end

-- Notes a loss, and returns the result of the call.
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

--- Sets the end of the lease to this many seconds from now, also if that is sooner than before. A permit that is
--- renewed is still renewed.
---@param seconds number
---@return true? extended, string? message, string? code
function Permit:extend(seconds)
    local lease_ms = options.span(seconds, "seconds")
    if self._released then
        return over(self)
    end
    return result(self, core.permit_semaphore_update_lease(self._semaphore._handle, self._id, lease_ms))
end

--- Returns the seconds of safe time left, in which nobody else can have the permit; 0 if it is over. No command is
--- sent.
---@return number
function Permit:remaining()
    local now = standing(self._semaphore, self._serial)
    return now and now.remaining_ms / 1000 or 0
end

--- Returns whether the permit was lost, and why, such as "expired" (its lease ended) or "missing" (the server no longer
--- has it). No command is sent.
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

--- Lua 5.4 calls this at the end of the block of `local permit <close>`. If the block raised an error, a failed release
--- raises none.
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
