--- Limited: what both semaphores share: options, and that somebody has to make them before they have permits.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local counted = require "redlatch.counted"
local options = require "redlatch.options"
local outcome = require "redlatch.outcome"
local reports = require "redlatch.reports"
local started = require "redlatch.started"

---@class redlatch.SemaphoreOptions
---@field timeout? number how many seconds acquire() and its kin wait: -1 for ever, 0 tries once; -1
---@field limit? integer the first acquire makes the semaphore with so many permits, unless it exists
---@field wait_for_creation? boolean lets `with` wait until somebody makes the semaphore; else it is "not_found"; false
---@field lease? number of a permit semaphore: seconds of a fixed lease, or -1 for one that is renewed; -1

local limited = {}

local unpack = table.unpack or unpack

local MISSING = "semaphore %q: nobody made it; expected try_set_permits(), limit to make it, "
    .. "or wait_for_creation = true to wait until somebody does"

--- An object of this class with its options, which `known` names.
function limited.new(class, make, client, name, given, known)
    given = options.check_known(given, known)
    local wait_ms = counted.wait_ms(given)
    local limit = given.limit ~= nil and options.amount(given.limit, "limit", 1) or nil
    local waits = given.wait_for_creation ~= nil and options.flag(given.wait_for_creation, "wait_for_creation") == 1
    local self = counted.new(class, make, client, name)
    self._wait_ms, self._limit, self._waits_for_creation, self._made = wait_ms, limit, waits, false
    return self
end

-- Whether a semaphore does not exist; where the server's access rules do not tell, it does.
local function is_missing(self)
    local report = reports.inspect(self._client, self._name)
    return report ~= nil and report.detected_kind == "nothing"
end

-- Sees to it that there is a semaphore.
local function ensure_made(self)
    if self._limit then
        local made, message, code = self:try_set_permits(self._limit)
        if made == nil then
            return nil, message, code
        end
    elseif is_missing(self) then
        return outcome.failure(core.NOT_FOUND, string.format(MISSING, self._name))
    end
    self._made = true
    return true
end

--- Acquires by `take`, which gets a time to wait, at first none: so one that has permits costs no more than that.
--- `scoped`: of `with`, which does not wait for a semaphore that nobody made.
function limited.obtain(self, wait_ms, scoped, take)
    if self._made or not (self._limit or (scoped and not self._waits_for_creation)) then
        return take(wait_ms)
    end
    local taken, message, code = take(0)
    if taken or code ~= "timeout" then
        return taken, message, code
    end
    taken, message, code = ensure_made(self)
    if not taken then
        return nil, message, code
    end
    return take(wait_ms)
end

--- Starts an acquire by `start`, which takes the arguments and a tag. If the limit is known, the semaphore is made
--- before by `make`, which takes the limit, a time to live or nothing, and the tag.
---@param what redlatch.Started
---@return integer? tag, string? message, string? code
function limited.start(self, what, make, ttl_ms, start, ...)
    if self._made or not self._limit then
        return started.begin(self._client, what, start, ...)
    end
    local arguments, count = {...}, select("#", ...)
    what.follow = function(tag)
        self._made = true
        arguments[count + 1] = tag
        return start(self._handle, unpack(arguments, 1, count + 1))
    end
    if ttl_ms then
        return started.begin(self._client, what, make, self._limit, ttl_ms)
    end
    return started.begin(self._client, what, make, self._limit)
end

return limited
