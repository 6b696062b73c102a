--- Hold: what one owner has of a lock, until it is released or lost.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local methods = require "redlatch.methods"
local options = require "redlatch.options"
local outcome = require "redlatch.outcome"

--- The hold of a lock. Lock:acquire_hold() and Lock:held() return it, and Lock:with() passes it to its function. If the
--- lock is released or lost, and acquired again, the old object does not act on the new hold.
---@class redlatch.Hold
---@field package _lock redlatch.Lock
---@field package _serial integer|string
---@field package _token integer|string
---@field package _owner string
---@field package _state {lost: boolean, reason: integer?} shared by all objects of the same hold
---@field package _released boolean whether this object released it
---@field package _locked_until integer? of a job of once(): until when the lock stays locked, by the core's clock
local Hold = {}
Hold.__index = Hold
Hold.__name = "redlatch.Hold"

local hold = {}

-- As the number of an owner: the owner is the handle itself.
local SELF = 0

--- Returns whether the core's record says that the lock is held.
function hold.is_alive(record)
    return record.state == core.HELD or record.state == core.SUSPECT
end

--- Returns the hold of a record of the core.
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

--- Returns the hold of an acquire that has just succeeded.
function hold.new(lock)
    local status, record = core.lock_hold_status(lock._handle, SELF)
    if status ~= core.OK then
        return outcome.failure(status, record) -- the client was closed meanwhile
    end
    return hold.of(lock, record)
end

-- Returns the core's record of this hold. Returns nil if the hold is over and there may be a newer one; after a failure
-- also message and status.
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

-- Returns what a call returns if now_of() found no record: the failure, or that the hold was lost or released.
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

--- Makes the release of a new hold leave the lock locked until this time from now.
function hold.keep(held, at_least_ms)
    held._locked_until = core.lua_clock_ms() + at_least_ms
end

-- Ends the hold, and leaves the lock locked for the rest of its time. If that is over before the reply, the hold is
-- lost for the core. The job lost nothing. `now` is the core's record.
local function release_in_time(self, now)
    local rest_ms = self._locked_until - core.lua_clock_ms()
    if rest_ms <= 0 or not hold.is_alive(now) then
        return self._lock:release()
    end
    local handle = self._lock._handle
    local status, message, reason = core.lock_extend(handle, SELF, rest_ms)
    if status == core.LOST and reason == core.REASON_EXPIRED then
        status = core.OK
    end
    if core.lock_leave(handle, SELF) == core.LOST and status == core.OK then
        core.lock_release_as(handle, SELF) -- the core forgets the hold
    end
    return outcome.result(status, message, reason)
end

-- The codes of releases that were refused: the lock is held as before.
local REFUSED = {unsupported = true, no_memory = true}

local function released(self, done, message, code, reason)
    self._released = not REFUSED[code]
    return done, message, code, reason
end

--- Releases one acquire of the lock, once. `with` and `<close>` do not release it again, unless this release was
--- refused.
---@param given? redlatch.ReleaseOptions
---@return true? released, string? message, string? code "lost" if the hold was lost meanwhile, string? reason why
function Hold:release(given)
    options.confirmation(given, self._lock._confirm) -- misuse is raised before anything is changed
    local now, message, status = now_of(self)
    if self._released or not now then
        self._released = true
        return over(self, message, status)
    end
    self._released = true
    if self._locked_until then
        return release_in_time(self, now)
    end
    return released(self, self._lock:release(given))
end

--- Sets the end of the lease to this many seconds from now, also if that is sooner than before.
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

--- Returns the seconds of safe time left, in which nobody else can hold the lock; 0 if the hold is over. For a lock
--- that is renewed this is at most the watchdog lease, however long it will be held.
---@return number
function Hold:remaining()
    local now = now_of(self)
    return now and now.remaining_ms / 1000 or 0
end

--- Returns how many acquires are still to be released; 0 if the hold is over.
---@return integer
function Hold:count()
    local now = now_of(self)
    return now and hold.is_alive(now) and now.count or 0
end

--- Returns whether the hold was lost, and why, such as "expired" (its lease ended) or "missing" (the server no longer
--- has it).
---@return boolean lost, "expired"|"missing"|"max_hold"|"abandoned"|nil reason
function Hold:lost()
    now_of(self)
    return self._state.lost, outcome.reason(self._state.reason)
end

--- Returns the fencing token; nil for kinds of locks that have none.
---@return integer|string|nil
function Hold:token()
    return self._token ~= 0 and self._token or nil
end

--- Returns the owner id of this hold as it is in Redis, "uuid:number". An extend() whose reply was lost may change it.
--- When the hold is over, it is the id of the acquire.
---@return string
function Hold:owner()
    local now = now_of(self)
    return now and now.owner or self._owner
end

--- Returns the serial, which names this hold, and never another, in events.
---@return integer|string
function Hold:serial()
    return self._serial
end

--- Lua 5.4 calls this at the end of the block of `local held <close>`. If the block raised an error, a failed release
--- raises none.
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
