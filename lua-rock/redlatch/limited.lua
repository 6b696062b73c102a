--- Limited: what both semaphores share: options, and that somebody has to make them before they have permits.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local counted = require "redlatch.counted"
local options = require "redlatch.options"

---@class redlatch.SemaphoreOptions
---@field timeout? number how many seconds acquire() and its kin wait: -1 for ever, 0 tries once; -1
---@field limit? integer the first acquire makes the semaphore with so many permits, unless it exists
---@field wait_for_creation? boolean lets `with` wait until somebody makes the semaphore; else it is "not_found"; false
---@field lease? number of a permit semaphore: seconds of a fixed lease, or -1 for one that is renewed; -1

local limited = {}

--- An object of this class with its options, which `known` names.
function limited.new(class, make, client, name, given, known)
    given = options.check_known(given, known)
    local wait_ms = counted.wait_ms(given)
    local record = core.semaphore_options()
    record.limit = given.limit ~= nil and options.amount(given.limit, "limit", 1) or 0
    record.lease_ms = given.lease ~= nil and options.lease(given.lease, "lease") or core.RENEWED
    local waits = given.wait_for_creation ~= nil and options.flag(given.wait_for_creation, "wait_for_creation") == 1
    local self = counted.new(class, make, client, name, record)
    self._wait_ms, self._scoped_handle = wait_ms, self._handle
    if not waits and not given.limit then -- `with` does not wait for a semaphore that nobody made
        record.must_exist = 1
        self._scoped_handle = counted.new_handle(make, client, name, record)
    end
    return self
end

return limited
