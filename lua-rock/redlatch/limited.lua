--- Limited: the code that both kinds of semaphores share: their options, and that they have no permits before somebody
-- creates them.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local counted = require "redlatch.counted"
local options = require "redlatch.options"

---@class redlatch.SemaphoreOptions
---@field timeout? number seconds that an acquire waits: -1 for ever, 0 tries once; default: -1
---@field limit? integer the first acquire creates the semaphore with this many permits, unless it exists
---@field wait_for_creation? boolean whether `with` waits until somebody creates the semaphore, or returns "not_found";
---default: false
---@field lease? number of a permit semaphore: seconds of a fixed lease, or -1 for one that is renewed; default: -1

local limited = {}

--- Returns an object of this class. `known` has the names of its options.
function limited.new(class, make, client, name, given, known)
    given = options.check_known(given, known)
    local wait_ms = counted.wait_ms(given)
    local record = core.semaphore_options()
    record.limit = given.limit ~= nil and options.amount(given.limit, "limit", 1) or 0
    record.lease_ms = given.lease ~= nil and options.lease(given.lease, "lease") or core.RENEWED
    local waits = given.wait_for_creation ~= nil and options.flag(given.wait_for_creation, "wait_for_creation") == 1
    local self = counted.new(class, make, client, name, record)
    self._wait_ms, self._scoped_handle = wait_ms, self._handle
    if not waits and not given.limit then -- `with` does not wait for a semaphore that nobody created
        record.must_exist = 1
        self._scoped_handle = counted.new_handle(make, client, name, record)
    end
    return self
end

return limited
