--- Locks in nginx's workers: one client for each worker, one lock object for each request.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"

local locks = {}

-- Opened at the first use: in the worker, not in the master process that forks it.
local client
local function the_client()
    if not client then
        client = assert(redlatch.connect())
    end
    return client
end

--- Works if nobody else holds the lock.
function locks.try(name)
    local lock = the_client():lock(name, {timeout = 0})
    local done, _, code = lock:with(function()
        ngx.sleep(0.2) -- the worker serves other requests meanwhile; the lock stays held
    end)
    return done and "worked" or code
end

-- Outcomes of started calls of other requests in this worker. The events themselves are not kept: an event refers to
-- its lock, so the lock of a request that died could not be collected.
local arrived = {}

-- Checks every 5 ms for the event of a started call. Other requests run meanwhile.
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

--- Waits for the lock and works under it.
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

--- Waits for the lock. The worker is blocked until then.
function locks.block(name)
    local done, _, code = the_client():lock(name, {timeout = 10}):with(function() end)
    return done and "worked" or code
end

--- One worker of all machines does this at a time.
function locks.work_by_timer(name)
    the_client():lock(name, {timeout = 0}):with(function()
        ngx.log(ngx.NOTICE, "the timer has the lock")
    end)
end

return locks
