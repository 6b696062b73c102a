--- PermitSemaphore: permits that have an id and a lease each.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local counted = require "redlatch.counted"
local limited = require "redlatch.limited"
local methods = require "redlatch.methods"
local options = require "redlatch.options"
local outcome = require "redlatch.outcome"
local permit = require "redlatch.permit"
local scope = require(_VERSION == "Lua 5.4" and "redlatch.scope_close" or "redlatch.scope_pcall")
local started = require "redlatch.started"

--- A permit semaphore, made by Client:permit_semaphore(); Redisson's RPermitExpirableSemaphore. Any process that knows
--- the id may give a permit back. A permit that nobody gives back is free again when its lease is over. In one client
--- waiters are served strictly in order of arrival. A semaphore that nobody has created, by try_set_permits() or
--- `limit`, has no permits: acquire() waits until somebody creates it, and with() returns "not_found" unless
--- `wait_for_creation` is true.
---@class redlatch.PermitSemaphore
---@field package _client redlatch.Client
---@field package _handle userdata
---@field package _name string
---@field package _wait_ms integer
---@field package _scoped_handle userdata of with(): fails for a semaphore that nobody created, if the options say so
local PermitSemaphore = {}
PermitSemaphore.__index = PermitSemaphore
PermitSemaphore.__name = "redlatch.PermitSemaphore"

local permits = {}

local OF_ACQUIRE = {timeout = true, lease = true}
local OF_TRY = {lease = true}

local OF_SEMAPHORE = {timeout = true, lease = true, limit = true, wait_for_creation = true}

function permits.new(client, name, given)
    return limited.new(PermitSemaphore, core.permit_semaphore_new, client, name, given, OF_SEMAPHORE)
end

-- Returns the lease of each permit and the timeout of an acquire, in milliseconds.
local function terms(self, given, known)
    given = options.check_known(given, known)
    local lease_ms = given.lease == nil and core.LEASE_OF_LOCK or options.lease(given.lease, "lease")
    return lease_ms, counted.wait_ms(given, self._wait_ms)
end

-- Returns `count` permits, whose serials follow each other from `serial` on.
local function permits_of(self, serial, count)
    local list = {}
    for i = 1, count do
        local made, message, code = permit.new(self, serial + i - 1)
        if not made then
            return nil, message, code -- the client was closed meanwhile
        end
        list[i] = made
    end
    return list
end

local function obtain(self, handle, count, lease_ms, wait_ms)
    local status, serial = core.lua_acquire_permits_with_ids(handle, count, lease_ms, wait_ms)
    if status ~= core.OK then
        return outcome.failure(status, serial)
    end
    return permits_of(self, serial, count)
end

local function obtain_one(self, handle, lease_ms, wait_ms)
    local list, message, code = obtain(self, handle, 1, lease_ms, wait_ms)
    if not list then
        return nil, message, code
    end
    return list[1]
end

-- Returns a lease of the core in seconds.
local function seconds_of(lease_ms)
    return lease_ms == core.FOREVER and math.huge or lease_ms / 1000
end

--- Takes a permit, and waits for one. In Lua 5.4: `local permit <close> = assert(permits:acquire())`.
---@param given? redlatch.AcquireOptions timeout, lease: the semaphore's
---@return redlatch.Permit? permit, string? message, string? code "timeout" if there was none all the time
function PermitSemaphore:acquire(given)
    local lease_ms, wait_ms = terms(self, given, OF_ACQUIRE)
    return obtain_one(self, self._handle, lease_ms, wait_ms)
end

--- Takes a permit if that is possible at once. It is not possible while there is a waiter of this client.
---@param given? {lease: number?}
---@return redlatch.Permit? permit, string? message, string? code "timeout" if there is none
function PermitSemaphore:try_acquire(given)
    local lease_ms = terms(self, given, OF_TRY)
    return obtain_one(self, self._handle, lease_ms, 0)
end

--- Takes several permits at once, all or none, and waits for them.
---@param count integer 1 to 1000
---@param given? redlatch.AcquireOptions
---@return redlatch.Permit[]? permits, string? message, string? code "timeout" if there were too few all the time
function PermitSemaphore:acquire_many(count, given)
    count = options.whole(count, "count", 1, core.PERMITS_AT_ONCE_MAX)
    local lease_ms, wait_ms = terms(self, given, OF_ACQUIRE)
    return obtain(self, self._handle, count, lease_ms, wait_ms)
end

--- Calls a function with a permit, and gives the permit back when the function returns or raises an error. The error is
--- raised again after that. In PUC Lua 5.1 the function may not yield.
---@param body fun(permit: redlatch.Permit): ...
---@param given? redlatch.AcquireOptions
---@return boolean? done true, then what the function returned; nil, message, code if no permit was acquired and the
---function did not run; false, message, code if it ran and the release failed, as when the permit was "lost" meanwhile
function PermitSemaphore:with(body, given)
    options.check_callable(body)
    local lease_ms, wait_ms = terms(self, given, OF_ACQUIRE)
    local taken, message, code = obtain_one(self, self._scoped_handle, lease_ms, wait_ms)
    if not taken then
        return nil, message, code
    end
    return scope(taken, body)
end

--- Gives back a permit, or the permit with an id, whoever took it.
---@param of redlatch.Permit|string
---@return true? released, string? message, string? code "lost" if its lease was over; "not_owned" if there is no such
---permit, as when its lease ended long ago and others may have had it since
function PermitSemaphore:release(of)
    if permit.is_one(of) then
        return of:release()
    end
    local status, message = core.permit_semaphore_release(self._handle, permit.id_of(of))
    return outcome.result(status, message)
end

--- Sets the end of a permit's lease to this many seconds from now, also if that is sooner than before. A permit that is
--- renewed is still renewed.
---@param of redlatch.Permit|string
---@param seconds number
---@return true? done, string? message, string? code "lost" or "not_owned", as of release()
function PermitSemaphore:extend(of, seconds)
    local id, lease_ms = permit.id_of(of), options.span(seconds, "seconds")
    local status, message = core.permit_semaphore_update_lease(self._handle, id, lease_ms)
    return outcome.result(status, message)
end

--- Queries the seconds left of a permit's lease: 0 if it is not in use, math.huge if the lease never ends.
---@param of redlatch.Permit|string
---@return number? seconds, string? message, string? code
function PermitSemaphore:lease_of(of)
    local lease_ms, message, code = counted.number(core.permit_semaphore_lease_of(self._handle, permit.id_of(of)))
    if not lease_ms then
        return nil, message, code
    end
    return seconds_of(lease_ms)
end

--- Creates the semaphore with this many permits. Returns false if it exists.
---@param count integer 0 or more
---@return boolean? set, string? message, string? code
function PermitSemaphore:try_set_permits(count)
    return counted.flag(core.permit_semaphore_try_set_permits(self._handle, options.amount(count, "count", 0)))
end

--- Sets the number of all permits, those in use included. If more are in use, the available number becomes negative.
---@param count integer 0 or more
---@return true? done, string? message, string? code
function PermitSemaphore:set_permits(count)
    local status, message = core.permit_semaphore_set_permits(self._handle, options.amount(count, "count", 0))
    return outcome.result(status, message)
end

--- Adds permits, or with a negative count removes some without waiting, also more than are available.
---@param count integer
---@return true? done, string? message, string? code
function PermitSemaphore:add_permits(count)
    count = options.amount(count, "count", -core.PERMITS_MAX)
    local status, message = core.permit_semaphore_add_permits(self._handle, count)
    return outcome.result(status, message)
end

--- Queries how many permits are available: less than 0 if the semaphore is in debt.
---@return integer? count, string? message, string? code
function PermitSemaphore:available()
    return counted.number(core.permit_semaphore_available(self._handle))
end

--- Queries how many permits are in use.
---@return integer? count, string? message, string? code
function PermitSemaphore:acquired()
    return counted.number(core.permit_semaphore_acquired(self._handle))
end

--- Queries how many permits there are in all.
---@return integer? count, string? message, string? code
function PermitSemaphore:permits()
    return counted.number(core.permit_semaphore_permits(self._handle))
end

--- Deletes the semaphore and all leases. Returns false if there was none. Waiters go on waiting.
---@return boolean? deleted, string? message, string? code
function PermitSemaphore:delete()
    return counted.flag(core.permit_semaphore_delete(self._handle))
end

-- Starts an acquire. Its event has the permits.
local function start_obtaining(self, count, lease_ms, wait_ms)
    local what = {object = self, field = "semaphore", complete = function(made)
        made.permits = permits_of(self, made.serial, count)
    end}
    return started.begin(self._client, what, core.permit_semaphore_start_acquire, count, lease_ms, wait_ms)
end

--- Starts an acquire and returns at once. Its event is "acquired", with a list of one permit.
---@param given? redlatch.AcquireOptions
---@return integer? tag, string? message, string? code
function PermitSemaphore:start_acquire(given)
    return start_obtaining(self, 1, terms(self, given, OF_ACQUIRE))
end

--- Starts an acquire of several and returns at once. Its event is "acquired", with the list.
---@param count integer 1 to 1000
---@param given? redlatch.AcquireOptions
---@return integer? tag, string? message, string? code
function PermitSemaphore:start_acquire_many(count, given)
    count = options.whole(count, "count", 1, core.PERMITS_AT_ONCE_MAX)
    return start_obtaining(self, count, terms(self, given, OF_ACQUIRE))
end

local function start(self, value, call, ...)
    return started.begin(self._client, {object = self, field = "semaphore", value = value}, call, ...)
end

--- Starts release() and returns at once. Its event is "released".
---@param of redlatch.Permit|string
---@return integer? tag, string? message, string? code
function PermitSemaphore:start_release(of)
    if permit.is_one(of) then
        return of:start_release()
    end
    return permit.start(self, core.permit_semaphore_start_release_by_id, permit.id_of(of))
end

--- Starts extend() and returns at once. Its event is "extended".
---@param of redlatch.Permit|string
---@param seconds number
---@return integer? tag, string? message, string? code
function PermitSemaphore:start_extend(of, seconds)
    local id, lease_ms = permit.id_of(of), options.span(seconds, "seconds")
    return permit.start(self, core.permit_semaphore_start_update_lease, id, lease_ms)
end

local function lease_in(record)
    return seconds_of(record.number)
end

--- Starts lease_of() and returns at once. Its event is "answered", with the result of lease_of() as `value`. The same
--- is true of the start functions below.
---@param of redlatch.Permit|string
---@return integer? tag, string? message, string? code
function PermitSemaphore:start_lease_of(of)
    return start(self, lease_in, core.permit_semaphore_start_lease_of, permit.id_of(of))
end

--- Starts try_set_permits() and returns at once.
---@param count integer 0 or more
---@return integer? tag, string? message, string? code
function PermitSemaphore:start_try_set_permits(count)
    count = options.amount(count, "count", 0)
    return start(self, counted.flag_of, core.permit_semaphore_start_try_set_permits, count)
end

--- Starts set_permits() and returns at once.
---@param count integer 0 or more
---@return integer? tag, string? message, string? code
function PermitSemaphore:start_set_permits(count)
    count = options.amount(count, "count", 0)
    return start(self, counted.done_of, core.permit_semaphore_start_set_permits, count)
end

--- Starts add_permits() and returns at once.
---@param count integer
---@return integer? tag, string? message, string? code
function PermitSemaphore:start_add_permits(count)
    count = options.amount(count, "count", -core.PERMITS_MAX)
    return start(self, counted.done_of, core.permit_semaphore_start_add_permits, count)
end

--- Starts available() and returns at once.
---@return integer? tag, string? message, string? code
function PermitSemaphore:start_available()
    return start(self, counted.number_of, core.permit_semaphore_start_available)
end

--- Starts acquired() and returns at once.
---@return integer? tag, string? message, string? code
function PermitSemaphore:start_acquired()
    return start(self, counted.number_of, core.permit_semaphore_start_acquired)
end

--- Starts permits() and returns at once.
---@return integer? tag, string? message, string? code
function PermitSemaphore:start_permits()
    return start(self, counted.number_of, core.permit_semaphore_start_permits)
end

--- Starts delete() and returns at once.
---@return integer? tag, string? message, string? code
function PermitSemaphore:start_delete()
    return start(self, counted.flag_of, core.permit_semaphore_start_delete)
end

--- Returns the name as it was given, without the client's prefix.
---@return string
function PermitSemaphore:name()
    return self._name
end

function PermitSemaphore:__tostring()
    return string.format("redlatch.PermitSemaphore %q", self._name)
end

methods.guard(PermitSemaphore, "permits")

return permits
