--- Once: Client:once() calls a function at most once in a period, whichever program calls it. The lease is at_most, and
-- nothing renews it. If the function ends before at_least, the hold is left: the lock stays locked for the rest of that
-- time. Else the lock is released. If a program dies, its lock stays locked until at_most is over.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local hold = require "redlatch.hold"
local lock = require "redlatch.lock"
local options = require "redlatch.options"
local outcome = require "redlatch.outcome"
local scope = require(_VERSION == "Lua 5.4" and "redlatch.scope_close" or "redlatch.scope_pcall")

---@class redlatch.OnceOptions
---@field at_most number seconds of the lease. If a program dies, no other runs the job in this time. After this time
---another one may run it
---@field at_least? number seconds that the lock stays locked from the start, even if the job ends sooner; default: 0

local OF_ONCE = {at_least = true, at_most = true}

return function(client, name, given, body)
    given = options.check_known(given, OF_ONCE)
    local at_most_ms = options.span(given.at_most, "at_most")
    local at_least_ms = given.at_least == nil and 0 or options.delay(given.at_least, "at_least")
    if at_least_ms > at_most_ms then
        outcome.misuse("at_least is %s, at_most %s; expected at_least <= at_most", given.at_least, given.at_most)
    end
    options.check_callable(body, "the argument of once")
    local held, message, code = lock.new(client, core.MUTEX, name, {lease = given.at_most, timeout = 0}):acquire_hold()
    if not held then
        return nil, message, code
    end
    hold.keep(held, at_least_ms)
    return scope(held, body)
end
