--- A function that runs at most once in a period, whoever calls it: what Client:once() does. The lease is at_most, and
-- nothing renews it. When the function is over before at_least, the lock stays locked for the rest of that, and the
-- hold is left; else it is released. A program that dies leaves it locked until at_most is over.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local hold = require "redlatch.hold"
local lock = require "redlatch.lock"
local options = require "redlatch.options"
local outcome = require "redlatch.outcome"
local scope = require(_VERSION == "Lua 5.4" and "redlatch.scope_close" or "redlatch.scope_pcall")

---@class redlatch.OnceOptions
---@field at_most number seconds of the lease: a program that dies keeps others from the job for so long, and after this
---time another one may run it
---@field at_least? number how many seconds the lock stays locked from the start, also if the job ends sooner; 0

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
