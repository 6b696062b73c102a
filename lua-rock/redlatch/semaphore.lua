--- Semaphore: a number of permits that are taken and given back.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local counted = require "redlatch.counted"
local limited = require "redlatch.limited"
local methods = require "redlatch.methods"
local options = require "redlatch.options"
local outcome = require "redlatch.outcome"
local scope = require(_VERSION == "Lua 5.4" and "redlatch.scope_close" or "redlatch.scope_pcall")
local started = require "redlatch.started"

---@class redlatch.PermitsOptions
---@field permits? integer how many at once; 1
---@field timeout? number seconds to wait: -1 for ever, 0 tries once; the semaphore's

--- Permits by name, made by Client:semaphore(); Redisson's RSemaphore. Nobody owns a permit: whoever took it, anybody
--- may give it back, and what a program that died had taken stays taken (a permit semaphore knows better). In one
--- client waiters are served strictly first come, first served: one that waits for many permits holds back those behind
--- it. One that nobody has made, by try_set_permits() or `limit`, has no permits: acquire() waits until somebody makes
--- it, and with() says "not_found" unless `wait_for_creation` is true.
---@class redlatch.Semaphore
---@field package _client redlatch.Client
---@field package _handle userdata
---@field package _name string
---@field package _wait_ms integer
---@field package _limit integer?
---@field package _waits_for_creation boolean
---@field package _made boolean as far as is known
local Semaphore = {}
Semaphore.__index = Semaphore
Semaphore.__name = "redlatch.Semaphore"

local semaphore = {}

local OF_ACQUIRE = {permits = true, timeout = true}
local OF_TRY = {permits = true}
local OF_SET = {ttl = true}
local OF_SEMAPHORE = {timeout = true, limit = true, wait_for_creation = true}

function semaphore.new(client, name, given)
    return limited.new(Semaphore, core.semaphore_new, client, name, given, OF_SEMAPHORE)
end

-- How many permits are meant: one, unless it is said.
local function amount(permits)
    return permits == nil and 1 or options.amount(permits, "permits", 0)
end

-- How many permits an acquire is to take, and how long it waits.
local function terms(self, given, known)
    given = options.check_known(given, known)
    return amount(given.permits), counted.wait_ms(given, self._wait_ms)
end

-- How many permits a semaphore is to have, and for how long.
local function size(permits, given)
    permits = options.amount(permits, "permits", 0)
    local ttl = options.check_known(given, OF_SET).ttl
    return permits, ttl == nil and core.FOREVER or options.limit(ttl, "ttl")
end

local function obtain(handle, permits, wait_ms)
    local status, message = core.lua_acquire_permits(handle, permits, wait_ms)
    return outcome.result(status, message)
end

--- Makes the semaphore with so many permits, unless it exists: then false.
---@param permits integer 0 or more
---@param given? {ttl: number?} the semaphore vanishes after so many seconds, or -1; -1
---@return boolean? set, string? message, string? code
function Semaphore:try_set_permits(permits, given)
    return counted.flag(core.semaphore_try_set_permits(self._handle, size(permits, given)))
end

--- Takes so many permits at once, and waits for them.
---@param given? redlatch.PermitsOptions
---@return true? acquired, string? message, string? code "timeout" when there were too few all the time
function Semaphore:acquire(given)
    local permits, wait_ms = terms(self, given, OF_ACQUIRE)
    return obtain(self._handle, permits, wait_ms)
end

--- Takes so many permits if that is possible at once. While anybody of this client waits it is not.
---@param given? {permits: integer?}
---@return true? acquired, string? message, string? code "timeout" when there are too few
function Semaphore:try_acquire(given)
    local permits = terms(self, given, OF_TRY)
    return obtain(self._handle, permits, 0)
end

--- Adds so many permits, and wakes who waits. Makes the semaphore if it does not exist.
---@param permits? integer 0 or more; 1
---@return true? released, string? message, string? code
function Semaphore:release(permits)
    local status, message = core.semaphore_release(self._handle, amount(permits))
    return outcome.result(status, message)
end

--- The same, unless the semaphore does not exist: then false.
---@param permits? integer 0 or more; 1
---@return boolean? released, string? message, string? code
function Semaphore:release_if_exists(permits)
    return counted.flag(core.semaphore_release_if_exists(self._handle, amount(permits)))
end

--- Adds permits, or takes some away without waiting, also more than there are.
---@param permits integer
---@return true? done, string? message, string? code
function Semaphore:add_permits(permits)
    permits = options.amount(permits, "permits", -core.PERMITS_MAX)
    local status, message = core.semaphore_add_permits(self._handle, permits)
    return outcome.result(status, message)
end

--- Takes all there are and returns how many: less than 0 if the semaphore owed some, which it then owes no more.
---@return integer? permits, string? message, string? code
function Semaphore:drain()
    return counted.number(core.semaphore_drain(self._handle))
end

--- Asks the server how many there are: 0 if the semaphore does not exist, less than 0 if it owes some.
---@return integer? permits, string? message, string? code
function Semaphore:available()
    return counted.number(core.semaphore_available(self._handle))
end

--- Deletes the semaphore; false if there was none. Who waits for permits goes on waiting.
---@return boolean? deleted, string? message, string? code
function Semaphore:delete()
    return counted.flag(core.semaphore_delete(self._handle))
end

-- What `with` has taken, until it is given back.
local Taken = {}
Taken.__index = Taken

function Taken:release()
    self._released = true
    return self._semaphore:release(self._permits)
end

--- Calls a function with permits taken, and gives them back when the function returns or raises an error, which goes on
--- to the caller. In Lua 5.1 itself the function may not yield.
---@param body fun(): ...
---@param given? redlatch.PermitsOptions
---@return boolean? done true, then what the function returned; nil, message, code if the permits were not obtained and
---the function never ran; false, message, code if it ran and giving back failed
function Semaphore:with(body, given)
    options.check_callable(body)
    local permits, wait_ms = terms(self, given, OF_ACQUIRE)
    local done, message, code = obtain(self._scoped_handle, permits, wait_ms)
    if not done then
        return nil, message, code
    end
    local taken = setmetatable({_semaphore = self, _permits = permits, _released = false}, Taken)
    return scope(taken, function()
        return body()
    end)
end

--- Starts an acquire of one permit or more and returns at once. Its event is "acquired".
---@param given? redlatch.PermitsOptions
---@return integer? tag, string? message, string? code
function Semaphore:start_acquire(given)
    local permits, wait_ms = terms(self, given, OF_ACQUIRE)
    options.amount(permits, "permits", 1)
    local what = {object = self, field = "semaphore"}
    return started.begin(self._client, what, core.semaphore_start_acquire, permits, wait_ms)
end

--- Starts a release and returns at once. Its event is "released".
---@param permits? integer 1 or more; 1
---@return integer? tag, string? message, string? code
function Semaphore:start_release(permits)
    local count = options.amount(permits == nil and 1 or permits, "permits", 1)
    local what = {object = self, field = "semaphore"}
    return started.begin(self._client, what, core.semaphore_start_release, count)
end

local function start(self, value, call, ...)
    return started.begin(self._client, {object = self, field = "semaphore", value = value}, call, ...)
end

--- Starts release_if_exists() of one permit or more and returns at once. Its event is "released", with what that
--- returns as `value`.
---@param permits? integer 1 or more; 1
---@return integer? tag, string? message, string? code
function Semaphore:start_release_if_exists(permits)
    local count = options.amount(permits == nil and 1 or permits, "permits", 1)
    return start(self, counted.flag_of, core.semaphore_start_release_if_exists, count)
end

--- Starts try_set_permits() and returns at once. Its event is "answered", with what that returns as `value`, as are
--- those of the next four.
---@param permits integer 0 or more
---@param given? {ttl: number?}
---@return integer? tag, string? message, string? code
function Semaphore:start_try_set_permits(permits, given)
    return start(self, counted.flag_of, core.semaphore_start_try_set_permits, size(permits, given))
end

--- Starts add_permits() and returns at once.
---@param permits integer
---@return integer? tag, string? message, string? code
function Semaphore:start_add_permits(permits)
    permits = options.amount(permits, "permits", -core.PERMITS_MAX)
    return start(self, counted.done_of, core.semaphore_start_add_permits, permits)
end

--- Starts drain() and returns at once.
---@return integer? tag, string? message, string? code
function Semaphore:start_drain()
    return start(self, counted.number_of, core.semaphore_start_drain)
end

--- Starts available() and returns at once.
---@return integer? tag, string? message, string? code
function Semaphore:start_available()
    return start(self, counted.number_of, core.semaphore_start_available)
end

--- Starts delete() and returns at once.
---@return integer? tag, string? message, string? code
function Semaphore:start_delete()
    return start(self, counted.flag_of, core.semaphore_start_delete)
end

--- The name as it was given, without the client's prefix.
---@return string
function Semaphore:name()
    return self._name
end

function Semaphore:__tostring()
    return string.format("redlatch.Semaphore %q", self._name)
end

methods.guard(Semaphore, "semaphore")

return semaphore
