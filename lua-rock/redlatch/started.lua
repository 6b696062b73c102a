--- Started calls: those that return at once, with an event to come.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local outcome = require "redlatch.outcome"

---@class redlatch.Started
---@field object redlatch.Lock|redlatch.Semaphore|redlatch.PermitSemaphore|redlatch.Latch|redlatch.Client what the call
---is about, kept until its event has come: the end of a lock object would be that of its holds
---@field field "lock"|"semaphore"|"latch"|"walk"|"name" as what the event tells it
---@field complete? fun(made: redlatch.Event) adds to the event of a call that has succeeded
---@field value? fun(record: userdata, report: userdata?, state: userdata?): any what such a call would have returned
---@field again? fun(tag: integer): integer starts the next part of a call that comes in several

local started = {}

local unpack = table.unpack or unpack

--- Starts a call of the core, which takes these arguments and then a tag.
---@param client redlatch.Client
---@param what redlatch.Started
---@return integer? tag, string? message, string? code
function started.begin(client, what, call, ...)
    local tag = client._last_tag + 1
    local arguments, count = {...}, select("#", ...) -- among which may be nil
    arguments[count + 1] = tag
    local status, message = call(what.object._handle, unpack(arguments, 1, count + 1))
    if status ~= core.OK then
        return outcome.failure(status, message)
    end
    client._last_tag = tag
    client._started[tag] = what
    return tag
end

--- Whether a call that has come upon nothing yet was started again, under its tag.
---@return boolean
function started.again(client, tag)
    local what = client._started[tag]
    return what ~= nil and what.again ~= nil and what.again(tag) == core.OK
end

--- What is known of the call whose event has come, and will be known no longer.
---@return redlatch.Started?
function started.take(client, tag)
    local what = client._started[tag]
    client._started[tag] = nil
    return what
end

return started
