--- Event: the completion of a started call, or a loss or another report, as next_event() returns it.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local outcome = require "redlatch.outcome"
local started = require "redlatch.started"

---@class redlatch.Event
---@field kind "acquired"|"released"|"extended"|"opened"|"counted"|"free"|"answered"|"lost"|"abandoned"|"moved"|
---"credentials_refused"|"release_failed"|"renewed_late" which started call is done ("answered": a query or a change);
---or what became of a hold or a permit; "moved": the sentinels have made another server the master;
---"credentials_refused": the server refused the user or the password; "release_failed": an unconfirmed release failed;
---"renewed_late": a lease was renewed after more than half of it
---@field ok boolean whether the call succeeded; false for "lost", "abandoned", "credentials_refused", "release_failed"
---@field message? string what went wrong, with which lock, on which server
---@field code? string what went wrong, such as "timeout"
---@field tag? integer of a started call: the tag that it returned
---@field lock? redlatch.Lock of a started call: its object
---@field semaphore? redlatch.Semaphore|redlatch.PermitSemaphore of a started call: its object
---@field latch? redlatch.Latch of a started call: its object
---@field walk? redlatch.Walk of a started call: its object
---@field value any of a query or a change that succeeded: the result of the blocking call
---@field after? number of "renewed_late": seconds since the previous confirmation was requested
---@field permits? redlatch.Permit[] of a started acquire of a permit semaphore: the permits
---@field reason? "expired"|"missing"|"max_hold"|"abandoned" why a hold was lost, also
---of a call whose code is "lost"
---@field serial integer|string|nil the serial of the hold, as of Hold:serial(), or of the first permit
---@field old_address? string of "moved": host:port of the previous master
---@field new_address? string of "moved": host:port of the new master
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
    [core.EVENT_MOVED] = "moved",
    [core.EVENT_CREDENTIALS_REFUSED] = "credentials_refused",
    [core.EVENT_RELEASE_FAILED] = "release_failed",
    [core.EVENT_RENEWED_LATE] = "renewed_late",
}
-- The kinds of events without a started call.
local UNASKED = {lost = true, abandoned = true, credentials_refused = true, release_failed = true, renewed_late = true}
local event = {}

--- Returns the event in a record of the core, with its report or its state. Notes in the client that the call is done
--- or the hold is lost.
---@return redlatch.Event
function event.of(client, record, report, state_of_lock)
    local status = record.status
    local made = {
        kind = KINDS[record.kind],
        ok = status == core.OK,
        reason = outcome.reason(record.reason),
        name = record.name,
    }
    if record.serial ~= 0 then
        made.serial = record.serial
    end
    local state = client._states[record.serial]
    if state and status == core.LOST then
        state.lost, state.reason = true, record.reason
    end
    if made.kind == "moved" then
        made.old_address, made.new_address = record.old_address, record.new_address
        return made
    elseif made.kind == "renewed_late" then
        made.after = record.number / 1000
    end
    local what
    if not UNASKED[made.kind] then
        made.tag = record.tag
        what = started.take(client, made.tag)
        if what and what.object ~= client then
            made[what.field] = what.object
        end
    end
    if status ~= core.OK then
        made.message = record.message ~= "" and record.message or core.strerror(status)
        made.code = core.status_name(status)
    elseif what and what.complete then
        what.complete(made)
    elseif what and what.value then
        made.value = what.value(record, report, state_of_lock)
    end
    return made
end

return event
