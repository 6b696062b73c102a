--- Started calls: they return at once and complete with an event.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local outcome = require "redlatch.outcome"

---@class redlatch.Started
---@field object redlatch.Lock|redlatch.Semaphore|redlatch.PermitSemaphore|redlatch.Latch|redlatch.Client the object of
---the call, kept alive until the event: a lock object that is collected releases its holds
---@field field "lock"|"semaphore"|"latch"|"walk"|"name" the field of the event that has the object
---@field complete? fun(made: redlatch.Event) adds to the event of a call that has succeeded
---@field value? fun(record: userdata, report: userdata?, state: userdata?): any returns the event's `value`
---@field again? fun(tag: integer): integer starts the next step of a call that consists of several

local started = {}

local unpack = table.unpack or unpack

--- Starts a call of the core with these arguments, and the tag as the last one.
---@param client redlatch.Client
---@param what redlatch.Started
---@return integer? tag, string? message, string? code
function started.begin(client, what, call, ...)
    local tag = client._last_tag + 1
    client._last_tag = tag -- before anything is allocated: the collector may run a finaliser that starts a call, too
    local arguments, count = {...}, select("#", ...) -- some of which may be nil
    arguments[count + 1] = tag
    local status, message = call(what.object._handle, unpack(arguments, 1, count + 1))
    if status ~= core.OK then
        return outcome.failure(status, message)
    end
    client._started[tag] = what
    return tag
end

--- Starts the next step of a call that has found nothing yet, with the same tag. Returns whether it was started.
---@return boolean
function started.again(client, tag)
    local what = client._started[tag]
    return what ~= nil and what.again ~= nil and what.again(tag) == core.OK
end

--- Removes a call whose event has come, and returns what was known of it.
---@return redlatch.Started?
function started.take(client, tag)
    local what = client._started[tag]
    client._started[tag] = nil
    return what
end

return started
