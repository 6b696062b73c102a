--- Event: what next_event() returns.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local outcome = require "redlatch.outcome"
local started = require "redlatch.started"

---@class redlatch.Event
---@field kind "acquired"|"released"|"extended"|"opened"|"counted"|"free"|"answered"|"lost"|"abandoned"|"moved"|
---"credentials_refused"|"release_failed"|"renewed_late" which started call is done, "answered" for all that ask or
---change something, or what became of a hold or a permit, or "moved": the sentinels have made another server the
---master, or "credentials_refused": the server refused the user or the password, or "release_failed": a release that
---was not to be confirmed failed, or "renewed_late": a lease was renewed after more than half of it
---@field ok boolean whether the call succeeded; false for "lost", "abandoned", "credentials_refused", "release_failed"
---@field message? string what went wrong, with which lock, on which server
---@field code? string what went wrong, such as "timeout"
---@field tag? integer of a call that was started: what it returned
---@field lock? redlatch.Lock of a call that was started
---@field semaphore? redlatch.Semaphore|redlatch.PermitSemaphore the same
---@field latch? redlatch.Latch the same
---@field walk? redlatch.Walk the same
---@field value any of a started call that asks or changes something, and was ok: what the blocking call would have
---returned
---@field after? number of "renewed_late": seconds since the confirmation before was requested
---@field permits? redlatch.Permit[] that a started acquire of a permit semaphore has brought
---@field reason? "expired"|"missing"|"max_hold"|"abandoned" why a hold was lost, also
---of a call whose code is "lost"
---@field serial integer|string|nil names the hold, as Hold:serial() does, or the first of the permits
---@field old_address? string of "moved": host:port of the master before
---@field new_address? string of "moved": host:port of the master now
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
-- What comes without a call that was started.
local UNASKED = {lost = true, abandoned = true, credentials_refused = true, release_failed = true, renewed_late = true}
local event = {}

--- The event in a record of the core, with the report or the state that it brings. The client learns which call is done
--- and which hold is lost.
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
