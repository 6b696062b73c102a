--- Walk: finds the locks on a server step by step, by started calls.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local methods = require "redlatch.methods"
local outcome = require "redlatch.outcome"
local reports = require "redlatch.reports"
local started = require "redlatch.started"

--- A walk over locks, made by Client:walk(). As with Redis's SCAN, a lock that exists all the time is found, perhaps
--- more than once.
---@class redlatch.Walk
---@field package _client redlatch.Client
---@field package _handle userdata
---@field package _pattern string
local Walk = {}
Walk.__index = Walk
Walk.__name = "redlatch.Walk"

local walk = {}

function walk.new(client, pattern)
    local status, handle = core.scan_new(client._handle, pattern)
    if status ~= core.OK then
        outcome.misuse("%s", handle)
    end
    return setmetatable({_client = client, _handle = handle, _pattern = pattern}, Walk)
end

local function report_or_end(_, handle)
    return handle ~= nil and reports.read(handle) or false
end

--- Starts the search for the next lock and returns at once. Its event is "answered", with the lock's report as `value`,
--- or false if there are no more. Only one such call may be unfinished at a time.
---@return integer? tag, string? message, string? code
function Walk:start_next()
    local function again(tag)
        return (core.scan_start_next(self._handle, tag))
    end
    local what = {object = self, field = "walk", value = report_or_end, again = again}
    return started.begin(self._client, what, core.scan_start_next)
end

function Walk:__tostring()
    return string.format("redlatch.Walk %q", self._pattern)
end

methods.guard(Walk, "walk")

return walk
