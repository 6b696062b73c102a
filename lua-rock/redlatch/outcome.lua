--- Outcome: how calls end: failures as nil, message, code; misuse as an error.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"

local outcome = {}

-- The statuses of misuse, which are raised. All others are returned.
local MISUSE = {[core.INVALID] = true, [core.BAD_HANDLE] = true, [core.IN_USE] = true}

-- No status is below this.
local LOWEST = -600

-- The folder of this package, by which callers_frame() finds the line outside of it.
local OWN = debug and debug.getinfo(1, "S").source:match("^(@.*[/\\])[^/\\]*$")

-- Returns the level, for error(), of the first function outside of this package. Tail calls leave no level, or one
-- without a source.
local function callers_frame()
    local frame = 2
    while OWN do
        local function_at = debug.getinfo(frame + 1, "S")
        if not function_at then
            return 0
        end
        if function_at.source:sub(1, #OWN) ~= OWN and function_at.source ~= "=(tail call)" then
            return frame
        end
        frame = frame + 1
    end
    return 0
end

--- Raises an error of misuse, with the caller's line.
function outcome.misuse(text, ...)
    error("redlatch: " .. string.format(text, ...), callers_frame())
end

--- Returns the results of a failed call; for a hold or permit that was lost also the reason.
---@param status integer
---@param message string
---@param reason? integer of LOST
---@return nil, string message, string code, string? reason "expired", "missing", "max_hold" or "abandoned"
function outcome.failure(status, message, reason)
    if MISUSE[status] then
        outcome.misuse("%s", message)
    end
    message = message ~= "" and message or core.strerror(status)
    if status == core.LOST then
        return nil, message, core.status_name(status), outcome.reason(reason)
    end
    return nil, message, core.status_name(status)
end

--- Returns the name of a reason, nil if there is none.
function outcome.reason(reason)
    if reason and reason ~= core.REASON_NONE then
        return core.reason_name(reason)
    end
end

--- Returns true for OK, else the results of a failed call.
function outcome.result(status, message, reason)
    if status == core.OK then
        return true
    end
    return outcome.failure(status, message, reason)
end

local by_name

--- Returns the status that a code names.
function outcome.status_of(code)
    if not by_name then
        by_name = {}
        for status = 0, LOWEST, -1 do
            by_name[core.status_name(status)] = status
        end
        by_name.unknown = nil
    end
    if type(code) ~= "string" or not by_name[code] then
        outcome.misuse("code is %s; expected one that a failed call returned, such as 'timeout'",
            outcome.shown(code))
    end
    return by_name[code]
end

--- Returns a value as text for a message: short, and with quotes if it is a string.
function outcome.shown(value)
    if type(value) == "string" then
        return #value <= 60 and string.format("%q", value) or string.format("%q...", value:sub(1, 57))
    end
    return tostring(value)
end

return outcome
