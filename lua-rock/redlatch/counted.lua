--- Counted: the code that semaphores, permit semaphores and latches share. Their handles of the core have no owner.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local options = require "redlatch.options"
local outcome = require "redlatch.outcome"

local counted = {}

--- Returns a handle that the core's function `make` makes.
function counted.new_handle(make, client, name, ...)
    local status, handle = make(client._handle, name, ...)
    if status ~= core.OK then
        -- The client is closed, or it is the parent process's. Many callers would not check a result of nil.
        outcome.misuse("%s", handle)
    end
    return handle
end

--- Returns an object of this class with such a handle.
function counted.new(class, make, client, name, ...)
    options.check_name(name)
    return setmetatable({_client = client, _handle = counted.new_handle(make, client, name, ...), _name = name}, class)
end

--- Returns the results of a call whose result is a number.
---@return integer? number, string? message, string? code
function counted.number(status, number)
    if status ~= core.OK then
        return outcome.failure(status, number)
    end
    return number
end

--- Returns the results of a call whose result is a boolean.
---@return boolean? answer, string? message, string? code
function counted.flag(status, number)
    if status ~= core.OK then
        return outcome.failure(status, number)
    end
    return number == 1
end

--- The next three functions return the `value` of the event of a started call: a number, a boolean, or true.
function counted.number_of(record)
    return record.number
end

function counted.flag_of(record)
    return record.number == 1
end

function counted.done_of()
    return true
end

--- Returns the timeout of a call in milliseconds. Without the option it is `otherwise`, or for ever.
function counted.wait_ms(given, otherwise)
    if given.timeout == nil then
        return otherwise or core.FOREVER
    end
    return options.wait(given.timeout, "timeout")
end

return counted
