--- Locks in nginx's workers: one client for each, a lock object for each request.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"

local locks = {}

-- Opened at the first use, so in the worker and not in the master it was forked from.
local client
local function the_client()
    if not client then
        client = assert(redlatch.connect())
    end
    return client
end

--- Does its work if nobody else holds the lock.
function locks.try(name)
    local lock = the_client():lock(name, {timeout = 0})
    local done, _, code = lock:with(function()
        ngx.sleep(0.2) -- other requests are served meanwhile; the lock is held
    end)
    return done and "worked" or code
end

-- What became of calls that were started and belong to another request of this worker. Not the events themselves: they
-- hold their lock, and a request that has died could not have its own collected.
local arrived = {}

-- Looks for the event of a started call every 5 ms, and lets others run meanwhile.
local function await(tag)
    repeat
        local event = the_client():next_event()
        while event do
            if event.tag then
                arrived[event.tag] = {ok = event.ok, code = event.code}
            end
            event = the_client():next_event()
        end
        if not arrived[tag] then
            ngx.sleep(0.005)
        end
    until arrived[tag]
    local outcome = arrived[tag]
    arrived[tag] = nil
    return outcome.ok or nil, outcome.code
end

--- Waits for the lock, and does its work.
function locks.wait(name)
    local lock = the_client():lock(name, {timeout = 10})
    local done, code = await(assert(lock:start_acquire()))
    if not done then
        return code
    end
    ngx.sleep(0.05)
    done, code = await(assert(lock:start_release()))
    return done and "worked" or code
end

--- Waits for the lock and blocks the worker until then.
function locks.block(name)
    local done, _, code = the_client():lock(name, {timeout = 10}):with(function() end)
    return done and "worked" or code
end

--- Of all workers on all machines one does this at a time.
function locks.work_by_timer(name)
    the_client():lock(name, {timeout = 0}):with(function()
        ngx.log(ngx.NOTICE, "the timer has the lock")
    end)
end

return locks
