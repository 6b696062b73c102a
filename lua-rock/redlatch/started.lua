--- Started calls: those that return at once, with an event to come.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local outcome = require "redlatch.outcome"

---@class redlatch.Started
---@field object redlatch.Lock|redlatch.Semaphore|redlatch.PermitSemaphore|redlatch.Latch|redlatch.Client what the call
---is about, kept until its event has come: the end of a lock object would be that of its holds
---@field field "lock"|"semaphore"|"latch"|"name" as what the event tells it
---@field permit_id? string of a call on one permit
---@field complete? fun(made: redlatch.Event) adds to the event of a call that has succeeded

local started = {}

local unpack = table.unpack or unpack

--- Starts a call of the core, which takes these arguments and then a tag.
---@param client redlatch.Client
---@param what redlatch.Started
---@return integer? tag, string? message, string? code
function started.begin(client, what, call, ...)
    local tag = client._last_tag + 1
    local arguments = {...}
    arguments[#arguments + 1] = tag
    local status, message = call(what.object._handle, unpack(arguments))
    if status ~= core.OK then
        return outcome.failure(status, message)
    end
    client._last_tag = tag
    client._started[tag] = what
    return tag
end

--- What is known of the call whose event has come, and will be known no longer.
---@return redlatch.Started?
function started.take(client, tag)
    local what = client._started[tag]
    client._started[tag] = nil
    return what
end

return started
