--- Counted: what semaphores, permit semaphores and latches share: a name and a handle of the core that has no owner.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local options = require "redlatch.options"
local outcome = require "redlatch.outcome"

local counted = {}

--- A handle that the core's function `make` makes, perhaps with options.
function counted.new_handle(make, client, name, ...)
    local status, handle = make(client._handle, name, ...)
    if status ~= core.OK then
        -- Of a client that is closed or its parent process's; an answer of nil would be called at once by many.
        outcome.misuse("%s", handle)
    end
    return handle
end

--- An object of this class with such a handle.
function counted.new(class, make, client, name, ...)
    options.check_name(name)
    return setmetatable({_client = client, _handle = counted.new_handle(make, client, name, ...), _name = name}, class)
end

--- What a call returns that hands out a number.
---@return integer? number, string? message, string? code
function counted.number(status, number)
    if status ~= core.OK then
        return outcome.failure(status, number)
    end
    return number
end

--- What a call returns that hands out yes or no.
---@return boolean? answer, string? message, string? code
function counted.flag(status, number)
    if status ~= core.OK then
        return outcome.failure(status, number)
    end
    return number == 1
end

--- What the events of started calls have as `value`: a number, yes or no, or that it is done.
function counted.number_of(record)
    return record.number
end

function counted.flag_of(record)
    return record.number == 1
end

function counted.done_of()
    return true
end

--- How long a call waits, by its options; without one `otherwise`, or for ever.
function counted.wait_ms(given, otherwise)
    if given.timeout == nil then
        return otherwise or core.FOREVER
    end
    return options.wait(given.timeout, "timeout")
end

return counted
