--- Event: what next_event() returns.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local started = require "redlatch.started"

---@class redlatch.Event
---@field kind "acquired"|"released"|"extended"|"opened"|"counted"|"free"|"answered"|"lost"|"abandoned" which started
---call is done, "answered" for all that ask or change something, or what became of a hold or a permit
---@field ok boolean whether the call succeeded; false for "lost" and "abandoned"
---@field message? string what went wrong, and with which lock
---@field code? string what went wrong, such as "timeout"
---@field tag? integer of a call that was started: what it returned
---@field lock? redlatch.Lock of a call that was started
---@field semaphore? redlatch.Semaphore|redlatch.PermitSemaphore the same
---@field latch? redlatch.Latch the same
---@field walk? redlatch.Walk the same
---@field value any of a started call that asks or changes something, and was ok: what the blocking call would have
---returned
---@field permits? redlatch.Permit[] that a started acquire of a permit semaphore has brought
---@field reason? "expired"|"missing"|"max_hold"|"abandoned" why a hold was lost
---@field serial integer|string|nil names the hold, as Hold:serial() does, or the first of the permits
---@field name string the lock's name, prefix included; its first 255 bytes

local KINDS = {
    [core.EVENT_ACQUIRED] = "acquired",
    [core.EVENT_RELEASED] = "released",
    [core.EVENT_EXTENDED] = "extended",
    [core.EVENT_LOST] = "lost",
    [core.EVENT_ABANDONED] = "abandoned",
    [core.EVENT_OPENED] = "opened",
    [core.EVENT_COUNTED] = "counted",
    [core.EVENT_FREE] = "free",
    [core.EVENT_ANSWERED] = "answered",
}
local REASONS = {
    [core.REASON_EXPIRED] = "expired",
    [core.REASON_MISSING] = "missing",
    [core.REASON_MAX_HOLD] = "max_hold",
    [core.REASON_ABANDONED] = "abandoned",
}

local event = {}

-- What has happened to a permit, of which the sentences of these statuses would speak as of a lock.
local OF_PERMITS = {
    [core.LOST] = "%s was taken and has been lost",
    [core.NOT_OWNED] = "%s is not there, or others have had it since",
}

-- Events carry no words of their own: what is known is the name, printable and short, and what the status means.
local function message_of(record, status, field, permit_id)
    local name = record.name:gsub("[^ -~]", ".")
    name = #name <= 60 and name or name:sub(1, 57) .. "..."
    local words = core.strerror(status)
    if field == "semaphore" and OF_PERMITS[status] then
        words = OF_PERMITS[status]:format(permit_id and "permit " .. permit_id or "a permit")
    end
    return string.format('%s "%s": %s', field, name, words)
end

--- The event in a record of the core, with the report or the state that it brings. The client learns which call is done
--- and which hold is lost.
---@return redlatch.Event
function event.of(client, record, report, state_of_lock)
    local status = record.status
    local made = {
        kind = KINDS[record.kind],
        ok = status == core.OK,
        reason = REASONS[record.reason],
        name = record.name,
    }
    if record.serial ~= 0 then
        made.serial = record.serial
    end
    local state = client._states[record.serial]
    if state and (made.reason or status == core.LOST) then
        state.lost = true
    end
    local what
    if not made.reason then
        made.tag = record.tag
        what = started.take(client, made.tag)
        if what then
            if what.object ~= client then
                made[what.field] = what.object
            end
        end
    end
    if status ~= core.OK then
        local about = what or state
        made.message = message_of(record, status, about and about.field or "lock", about and about.permit_id)
        made.code = core.status_name(status)
    elseif what and what.complete then
        what.complete(made)
    elseif what and what.value then
        made.value = what.value(record, report, state_of_lock)
    end
    return made
end

return event
