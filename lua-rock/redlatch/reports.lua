--- Reports: what the server knows of a name, whoever wrote it, Redisson included. Nothing here acquires or changes a
--- lock.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local outcome = require "redlatch.outcome"
local started = require "redlatch.started"

--- A holder of a lock, or a waiter in its server queue.
---@class redlatch.Party
---@field role "holder"|"reader"|"writer"|"waiter"
---@field owner string the owner id as it is in Redis; of a permit its id
---@field count integer the hold count; 0 for a waiter
---@field host? string the computer of an owner that is connected with redlatch; in inspect() only
---@field pid? integer its process there
---@field label? string the label of its client
---@field value? string of a group: the value that is held, as it is in Redis: a hash
---@field ttl? number of a group's value and of a permit: seconds left of its lease

---@alias redlatch.DetectedKind
---| "nothing"
---| "mutex"
---| "fenced"
---| "fair"
---| "read_write"
---| "group"
---| "plain"
---| "count"
---| "permit_semaphore"
---| "unknown"

--- What a name was when the server was queried.
---@class redlatch.Report
---@field name string without the client's prefix
---@field detected_kind redlatch.DetectedKind
--- "count" is a number, which a semaphore, a latch or any counter may be; "unknown" is no lock
---@field type string the Redis type of the key
---@field ttl number seconds left of the lease; math.huge if it never ends, 0 if there is no key
---@field token? integer|string of a fenced lock: the last one issued
---@field count? integer of "count" the number, of a permit semaphore the available permits
---@field locked? boolean whether anybody holds it; nil for "count" and permit semaphores: see `count` and `holders`
---@field holders integer
---@field node string host:port of the server that the name is on, or its socket's path; in a cluster one of the masters
---@field waiters integer how many wait in the server queue; 0 for kinds without one
---@field parties redlatch.Party[] holders first; if there are many, only some

local ROLES = {
    [core.HOLDER] = "holder",
    [core.READER] = "reader",
    [core.WRITER] = "writer",
    [core.WAITER] = "waiter",
}

-- The detected kinds whose report has a count.
local COUNTED = {[core.DETECTED_COUNT] = true, [core.DETECTED_PERMIT_SEMAPHORE] = true}

local reports = {}

-- Returns whether anybody holds the name; nil for kinds whose reports have a count.
local function locked_in(facts)
    if facts.detected_kind == core.DETECTED_COUNT or facts.detected_kind == core.DETECTED_PERMIT_SEMAPHORE then
        return nil
    end
    return facts.holders ~= 0
end

local function party_of(record)
    return {
        role = ROLES[record.role],
        owner = record.owner,
        count = record.count,
        host = record.host ~= "" and record.host or nil,
        pid = record.host ~= "" and record.pid or nil,
        label = record.label ~= "" and record.label or nil,
        value = record.value ~= "" and record.value or nil,
        ttl = record.ttl_ms ~= -1 and record.ttl_ms / 1000 or nil,
    }
end

--- Returns the report in a handle of the core.
---@return redlatch.Report? report, string? message, string? code
function reports.read(handle)
    local status, facts = core.report_facts(handle)
    if status ~= core.OK then
        return outcome.failure(status, facts)
    end
    local parties = {}
    for index = 1, facts.parties do
        local found, record = core.report_party(handle, index - 1)
        if found ~= core.OK then
            return outcome.failure(found, record)
        end
        parties[index] = party_of(record)
    end
    return {
        name = core.report_name(handle),
        detected_kind = core.detected_kind_name(facts.detected_kind),
        type = facts.type,
        ttl = facts.ttl_ms == -1 and math.huge or facts.ttl_ms / 1000,
        token = facts.token ~= 0 and facts.token or nil,
        count = COUNTED[facts.detected_kind] and facts.count or nil,
        locked = locked_in(facts),
        holders = facts.holders,
        waiters = facts.waiters,
        node = facts.node,
        parties = parties,
    }
end

--- Returns the report of one name, which lists `owner` first.
function reports.inspect(client, name, owner)
    local status, handle = core.client_inspect(client._handle, name, owner)
    if status ~= core.OK then
        return outcome.failure(status, handle)
    end
    return reports.read(handle)
end

--- Checks an owner to list first, or nil.
function reports.check_owner(owner)
    if owner ~= nil and type(owner) ~= "string" then
        outcome.misuse("owner is of type %s; expected string", type(owner))
    end
    return owner
end

local function read_value(_, handle)
    return (reports.read(handle))
end

--- Starts inspect().
function reports.start_inspect(client, name, owner)
    local what = {object = client, field = "name", value = read_value}
    return started.begin(client, what, core.client_start_inspect, name, owner)
end

--- Returns a function that returns one report after the other, and nil at the end. Failures are raised, because a
--- result of nil is the end.
function reports.scan(client, pattern)
    local status, walk = core.scan_new(client._handle, pattern)
    if status ~= core.OK then
        outcome.misuse("%s", walk)
    end
    local state = {client = client, walk = walk} -- keeps the client from being collected during the scan
    return function()
        local found, handle = core.scan_next(state.walk)
        if found ~= core.OK then
            outcome.misuse("%s", handle)
        end
        if handle == nil then
            return nil
        end
        local report, message = reports.read(handle)
        return report or outcome.misuse("%s", message)
    end
end

--- Waits until nobody holds a name.
function reports.wait_free(client, name, wait_ms)
    local status, message = core.lua_wait_free(client._handle, name, wait_ms)
    if status == core.TIMEOUT then
        message = string.format("wait for %q: held by somebody all the time", name)
    end
    return outcome.result(status, message)
end

--- Starts wait_free().
function reports.start_wait_free(client, name, wait_ms)
    return started.begin(client, {object = client, field = "name"}, core.client_start_wait_free, name, wait_ms)
end

return reports
