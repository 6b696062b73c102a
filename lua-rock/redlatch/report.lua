--- Report: what the server knows of a name, whoever wrote it, Redisson included. Nothing here takes or changes a lock.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local outcome = require "redlatch.outcome"

--- Somebody who holds a lock, or queues for it on the server.
---@class redlatch.Party
---@field role "holder"|"reader"|"writer"|"waiter"
---@field owner string the owner id as it stands in Redis
---@field count integer levels held; 0 for a waiter

--- What a name was when the server was asked.
---@class redlatch.Report
---@field name string without the client's prefix
---@field form "nothing"|"mutex"|"fenced"|"fair"|"read_write"|"group"|"unknown" "unknown" for what is no lock
---@field type string the server's word for the type of the key
---@field ttl number seconds left of the lease; math.huge if it has none, 0 if there is nothing
---@field token integer of a fenced lock: the last one issued; else 0
---@field holders integer
---@field waiters integer who queues on the server; 0 where the form does not tell
---@field locked boolean whether anybody holds it
---@field parties redlatch.Party[] holders first; of very many only some

local report = {}

local ROLES = {
    [core.HOLDER] = "holder", [core.READER] = "reader", [core.WRITER] = "writer", [core.WAITER] = "waiter",
}

local function must(status, record)
    if status ~= core.OK then
        outcome.misuse("%s", record)
    end
    return record
end

--- Reads a report of the core.
---@return redlatch.Report
function report.of(handle)
    local facts = must(core.report_facts(handle))
    local parties = {}
    for index = 1, facts.parties do
        local party = must(core.report_party(handle, index - 1))
        parties[index] = {role = ROLES[party.role], owner = party.owner, count = party.count}
    end
    return {
        name = core.report_name(handle),
        form = core.form_name(facts.form),
        type = facts.type,
        ttl = facts.ttl_ms == -1 and math.huge or facts.ttl_ms / 1000,
        token = facts.token,
        holders = facts.holders,
        waiters = facts.waiters,
        locked = facts.holders ~= 0,
        parties = parties,
    }
end

--- An iterator over the reports of all locks whose names match.
function report.scan(client, pattern)
    local walk = must(core.scan_new(client, pattern))
    return function()
        local handle = must(core.scan_next(walk))
        return handle and report.of(handle)
    end
end

return report
