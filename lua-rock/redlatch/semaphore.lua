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
---@field permits? integer how many at once; default: 1
---@field timeout? number seconds to wait: -1 for ever, 0 tries once; default: the semaphore's

--- A semaphore, made by Client:semaphore(); Redisson's RSemaphore. Nobody owns a permit: anybody may give it back. The
--- permits of a dead program stay in use; those of a permit semaphore do not. In one client waiters are served strictly
--- in order of arrival: a waiter for many permits delays those behind it. A semaphore that nobody has created, by
--- try_set_permits() or `limit`, has no permits: acquire() waits until somebody creates it, and with() returns
--- "not_found" unless `wait_for_creation` is true.
---@class redlatch.Semaphore
---@field package _client redlatch.Client
---@field package _handle userdata
---@field package _name string
---@field package _wait_ms integer
---@field package _scoped_handle userdata of with(): fails for a semaphore that nobody created, if the options say so
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

-- Returns a number of permits, which is 1 by default.
local function amount(permits)
    return permits == nil and 1 or options.amount(permits, "permits", 0)
end

-- Returns how many permits an acquire takes, and its timeout in milliseconds.
local function terms(self, given, known)
    given = options.check_known(given, known)
    return amount(given.permits), counted.wait_ms(given, self._wait_ms)
end

-- Returns how many permits a new semaphore has, and its TTL in milliseconds.
local function size(permits, given)
    permits = options.amount(permits, "permits", 0)
    local ttl = options.check_known(given, OF_SET).ttl
    return permits, ttl == nil and core.FOREVER or options.limit(ttl, "ttl")
end

local function obtain(handle, permits, wait_ms)
    local status, message = core.lua_acquire_permits(handle, permits, wait_ms)
    return outcome.result(status, message)
end

--- Creates the semaphore with this many permits. Returns false if it exists.
---@param permits integer 0 or more
---@param given? {ttl: number?} seconds after which the server deletes the semaphore, or -1 for never; default: -1
---@return boolean? set, string? message, string? code
function Semaphore:try_set_permits(permits, given)
    return counted.flag(core.semaphore_try_set_permits(self._handle, size(permits, given)))
end

--- Takes permits, all at once, and waits for them.
---@param given? redlatch.PermitsOptions
---@return true? acquired, string? message, string? code "timeout" if there were too few all the time
function Semaphore:acquire(given)
    local permits, wait_ms = terms(self, given, OF_ACQUIRE)
    return obtain(self._handle, permits, wait_ms)
end

--- Takes permits if that is possible at once. It is not possible while there is a waiter of this client.
---@param given? {permits: integer?}
---@return true? acquired, string? message, string? code "timeout" if there are too few
function Semaphore:try_acquire(given)
    local permits = terms(self, given, OF_TRY)
    return obtain(self._handle, permits, 0)
end

--- Adds permits, and notifies waiters. Creates the semaphore if it does not exist.
---@param permits? integer 0 or more; default: 1
---@return true? released, string? message, string? code
function Semaphore:release(permits)
    local status, message = core.semaphore_release(self._handle, amount(permits))
    return outcome.result(status, message)
end

--- As release(), but returns false if the semaphore does not exist.
---@param permits? integer 0 or more; default: 1
---@return boolean? released, string? message, string? code
function Semaphore:release_if_exists(permits)
    return counted.flag(core.semaphore_release_if_exists(self._handle, amount(permits)))
end

--- Adds permits, or with a negative number removes some without waiting, also more than are available.
---@param permits integer
---@return true? done, string? message, string? code
function Semaphore:add_permits(permits)
    permits = options.amount(permits, "permits", -core.PERMITS_MAX)
    local status, message = core.semaphore_add_permits(self._handle, permits)
    return outcome.result(status, message)
end

--- Takes all available permits and returns their number. It is less than 0 if the semaphore was in debt, which it then
--- is no longer.
---@return integer? permits, string? message, string? code
function Semaphore:drain()
    return counted.number(core.semaphore_drain(self._handle))
end

--- Queries how many permits are available: 0 if the semaphore does not exist, less than 0 if it is in debt.
---@return integer? permits, string? message, string? code
function Semaphore:available()
    return counted.number(core.semaphore_available(self._handle))
end

--- Deletes the semaphore. Returns false if there was none. Waiters go on waiting.
---@return boolean? deleted, string? message, string? code
function Semaphore:delete()
    return counted.flag(core.semaphore_delete(self._handle))
end

-- The permits that `with` has taken, until it gives them back.
local Taken = {}
Taken.__index = Taken

function Taken:release()
    self._released = true
    return self._semaphore:release(self._permits)
end

--- Takes permits, calls a function, and gives the permits back when the function returns or raises an error. The
--- error is raised again after that. In PUC Lua 5.1 the function may not yield.
---@param body fun(): ...
---@param given? redlatch.PermitsOptions
---@return boolean? done true, then what the function returned; nil, message, code if the permits were not acquired and
---the function did not run; false, message, code if it ran and the release failed
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
---@param permits? integer 1 or more; default: 1
---@return integer? tag, string? message, string? code
function Semaphore:start_release(permits)
    local count = options.amount(permits == nil and 1 or permits, "permits", 1)
    local what = {object = self, field = "semaphore"}
    return started.begin(self._client, what, core.semaphore_start_release, count)
end

local function start(self, value, call, ...)
    return started.begin(self._client, {object = self, field = "semaphore", value = value}, call, ...)
end

--- Starts release_if_exists() of one permit or more and returns at once. Its event is "released", with the result of
--- release_if_exists() as `value`.
---@param permits? integer 1 or more; default: 1
---@return integer? tag, string? message, string? code
function Semaphore:start_release_if_exists(permits)
    local count = options.amount(permits == nil and 1 or permits, "permits", 1)
    return start(self, counted.flag_of, core.semaphore_start_release_if_exists, count)
end

--- Starts try_set_permits() and returns at once. Its event is "answered", with the result of try_set_permits() as
--- `value`. The same is true of the start functions below.
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

--- Returns the name as it was given, without the client's prefix.
---@return string
function Semaphore:name()
    return self._name
end

function Semaphore:__tostring()
    return string.format("redlatch.Semaphore %q", self._name)
end

methods.guard(Semaphore, "semaphore")

return semaphore
