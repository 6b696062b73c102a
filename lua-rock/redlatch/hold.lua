--- Hold: one acquire of a lock, until it is released or lost.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local methods = require "redlatch.methods"
local options = require "redlatch.options"
local outcome = require "redlatch.outcome"

--- What Lock:acquire_hold() and Lock:held() return, and the function of Lock:with() gets. When the lock was released,
--- or lost, and taken again, the old object knows nothing of the new hold.
---@class redlatch.Hold
---@field package _lock redlatch.Lock
---@field package _serial integer|string
---@field package _token integer|string
---@field package _owner string
---@field package _state {lost: boolean, reason: integer?} shared by all objects of the same hold
---@field package _released boolean through this object
---@field package _at_least_ms integer? of a job of Client:once(): how long the lock stays locked
---@field package _granted_ms integer? how long it had when it was granted
local Hold = {}
Hold.__index = Hold
Hold.__name = "redlatch.Hold"

local hold = {}

-- As the number of an owner: the handle itself.
local SELF = 0

--- Whether a record of the core says that the lock is held.
function hold.is_alive(record)
    return record.state == core.HELD or record.state == core.SUSPECT
end

--- The hold of which the core has given a record.
function hold.of(lock, record)
    local serial, states = record.serial, lock._client._states
    local state = states[serial]
    if not state then
        state = {lost = false}
        states[serial] = state
    end
    return setmetatable({
        _lock = lock,
        _serial = serial,
        _token = record.token,
        _owner = record.owner,
        _state = state,
        _released = false,
    }, Hold)
end

--- The hold of an acquire that has just succeeded.
function hold.new(lock)
    local status, record = core.lock_hold_status(lock._handle, SELF)
    if status ~= core.OK then
        return outcome.failure(status, record) -- closed in between
    end
    return hold.of(lock, record)
end

-- What the core says of this hold now; nil if it is over and another may have taken its place.
local function now_of(self)
    local status, record = core.lock_hold_status(self._lock._handle, SELF)
    if status ~= core.OK then
        return nil, record, status
    end
    if record.state == core.NOT_HELD or record.serial ~= self._serial then
        return nil
    end
    if record.state == core.GONE then
        self._state.lost, self._state.reason = true, record.reason
    end
    return record
end

-- What a call returns that finds the hold over.
local function over(self, message, status)
    if status then
        return outcome.failure(status, message)
    end
    local name = self._lock._name
    if self._state.lost then
        local reason = self._state.reason
        local why = outcome.reason(reason) or "not known why"
        return outcome.failure(core.LOST, string.format("this hold of lock %q was lost (%s)", name, why), reason)
    end
    return outcome.failure(core.NOT_OWNED, string.format("this hold of lock %q was released already", name))
end

--- Has the release of a hold that was just acquired leave the lock locked until this time after the acquire.
function hold.keep(held, at_least_ms)
    local now = now_of(held)
    held._at_least_ms, held._granted_ms = at_least_ms, now and now.remaining_ms or 0
end

-- Ends the hold, but not the lock before its time. `now` is the core's record.
local function release_in_time(self, now)
    local rest_ms = self._at_least_ms - (self._granted_ms - now.remaining_ms)
    if rest_ms <= 0 or not hold.is_alive(now) then
        return self._lock:release()
    end
    local handle = self._lock._handle
    local status, message, reason = core.lock_extend(handle, SELF, rest_ms)
    core.lock_leave(handle, SELF)
    return outcome.result(status, message, reason)
end

--- Releases the lock once. `with` and `<close>` do not release it again.
---@param given? redlatch.ReleaseOptions
---@return true? released, string? message, string? code "lost" if the hold was lost meanwhile, string? reason why
function Hold:release(given)
    local now, message, status = now_of(self)
    if self._released or not now then
        self._released = true
        return over(self, message, status)
    end
    self._released = true
    if self._at_least_ms then
        return release_in_time(self, now)
    end
    return self._lock:release(given)
end

--- Lets the lease end so many seconds from now, also if that is sooner than it was.
---@param seconds number
---@return true? extended, string? message, string? code
function Hold:extend(seconds)
    options.span(seconds, "seconds")
    local now, message, status = now_of(self)
    if not now then
        return over(self, message, status)
    end
    return self._lock:extend(seconds)
end

--- Seconds for which nobody else can have the lock, as far as is known; 0 when the hold is over. The lease of a lock
--- that is renewed is never longer than the watchdog's, however long it will be held.
---@return number
function Hold:remaining()
    local now = now_of(self)
    return now and now.remaining_ms / 1000 or 0
end

--- How many acquires are to be released; 0 when the hold is over.
---@return integer
function Hold:count()
    local now = now_of(self)
    return now and hold.is_alive(now) and now.count or 0
end

--- Whether the hold ended without being released, and why: its time ran out, or the server forgot it.
---@return boolean lost, "expired"|"missing"|"max_hold"|"abandoned"|nil reason
function Hold:lost()
    now_of(self)
    return self._state.lost, outcome.reason(self._state.reason)
end

--- The fencing token; nil for kinds of locks that have none.
---@return integer|string|nil
function Hold:token()
    return self._token ~= 0 and self._token or nil
end

--- The owner id of this hold as it stands in Redis, "uuid:number". An extend() whose reply was lost may change it; once
--- the hold is over it is the one that acquire() got.
---@return string
function Hold:owner()
    local now = now_of(self)
    return now and now.owner or self._owner
end

--- Names this hold, and never another, in events.
---@return integer|string
function Hold:serial()
    return self._serial
end

--- Lua 5.4 calls this at the end of the block of `local held <close>`. An error of the block is never hidden.
function Hold:__close(failure)
    if self._released then
        return
    end
    local done, message = self:release()
    if not done and failure == nil then
        error("redlatch: " .. message, 0)
    end
end

function Hold:__tostring()
    return string.format("redlatch.Hold of %q by %s", self._lock._name, self._owner)
end

methods.guard(Hold, "held")

return hold
