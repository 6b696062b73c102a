--- Client: a handle to one Redis server or cluster, from which locks are made.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local election = require "redlatch.election"
local event = require "redlatch.event"
local keys = require "redlatch.keys"
local latch = require "redlatch.latch"
local lock = require "redlatch.lock"
local methods = require "redlatch.methods"
local once = require "redlatch.once"
local outcome = require "redlatch.outcome"
local permits = require "redlatch.permits"
local read_write = require "redlatch.read_write"
local reports = require "redlatch.reports"
local semaphore = require "redlatch.semaphore"
local settings = require "redlatch.options"
local started = require "redlatch.started"
local walk = require "redlatch.walk"

--- The client that connect() returns. In a forked child it has connections and a uuid of its own, made at the first
--- use. Each Lua state opens a client of its own.
---@class redlatch.Client
---@field package _handle userdata
---@field package _states table<integer, table> whether a hold is lost, by its serial; weak values
---@field package _shared table<any, table> the handles that lock objects share, by owner and name; weak keys
---@field package _started table<integer, redlatch.Started> the started calls, by tag
---@field package _last_tag integer
---@field package _closed boolean
local Client = {}
Client.__index = Client
Client.__name = "redlatch.Client"

local client = {}

function client.new(handle)
    return setmetatable({
        _handle = handle,
        _states = setmetatable({}, {__mode = "v"}),
        _shared = setmetatable({}, {__mode = "k"}),
        _started = {},
        _last_tag = 0,
        _closed = false,
    }, Client)
end

--- Returns a mutex. No command is sent before its first use. Use a name as one kind of lock only.
---
--- The owner is the returned object, unless one is given. All coroutines that use the object are that owner: they may
--- acquire the lock again and must release it as often. Coroutines exclude each other only with a lock object each.
---
--- Raises an error if the client is closed, or belongs to the process from which this one was forked.
---@param name string 1 to 65535 bytes of any value
---@param options? redlatch.LockOptions
---@return redlatch.Lock
function Client:lock(name, options)
    return lock.new(self, core.MUTEX, name, options)
end

--- Returns a mutex whose holds have a fencing token, `held:token()`, greater than that of every hold before. A resource
--- that refuses a smaller token than the largest that it has seen is safe from a holder whose lease is over.
---@param name string
---@param options? redlatch.LockOptions
---@return redlatch.Lock
function Client:fenced_lock(name, options)
    return lock.new(self, core.FENCED, name, options)
end

--- Returns a mutex that is granted in the order in which waiters came to the server, across all processes. A waiter
--- that gives up leaves the queue. A waiter keeps its position however long it waits, unless its client is dead or cut
--- off for `fair_timeout`, an option of connect().
---@param name string
---@param options? redlatch.LockOptions
---@return redlatch.Lock
function Client:fair_lock(name, options)
    return lock.new(self, core.FAIR, name, options)
end

--- Returns a mutex whose waiters poll and subscribe to no channel. It is for locks that are held for moments and have
--- so many waiters that notifying them of each release would cost more. In one process only the first waiter polls.
---@param name string
---@param options? redlatch.LockOptions
---@return redlatch.Lock
function Client:spin_lock(name, options)
    return lock.new(self, core.SPIN, name, options)
end

--- Returns a lock in the format of redis-py, redsync, bsm/redislock, node-redlock and many others: a string with the
--- owner as its value. It is not reentrant. The other libraries publish no message at a release: while one of them
--- holds the lock, a waiter polls every 0.1 s.
---@param name string
---@param options? redlatch.LockOptions
---@return redlatch.Lock
function Client:plain_lock(name, options)
    return lock.new(self, core.PLAIN, name, options)
end

--- Returns a lock on values of a group: it acquires all of them, or none. Sets of values that overlap exclude each
--- other, even if both have the same owner. Other sets do not. It is Redisson's getMultiLock(group, values) with its
--- StringCodec.
---@param group string
---@param values string[] 1 to 10000 strings of any bytes, in any order
---@param options? redlatch.LockOptions
---@return redlatch.Lock
function Client:group_lock(group, values, options)
    return lock.new(self, core.GROUP, group, options, settings.check_values(values))
end

--- Returns two locks of one name and one owner: `.read` for many at once and `.write` for one alone. An owner of the
--- write lock may acquire the read lock as well, and keeps it after releasing the write lock. An owner of the read lock
--- that acquires the write lock gets "would_deadlock" at once. In one process waiters are served in order of arrival.
--- Readers of other processes may overtake a waiting writer, for ever if they overlap without a gap.
---@param name string
---@param options? redlatch.LockOptions
---@return redlatch.ReadWriteLock
function Client:read_write_lock(name, options)
    return read_write.new(self, name, options)
end

--- Calls a function at most once in a period. This is for a job that many programs start and only one should run. For
--- others the name is a mutex that is held.
---@param name string
---@param given redlatch.OnceOptions
---@param body fun(held: redlatch.Hold): ...
---@return boolean? done true, then what the function returned; nil, message, "timeout" if it did not run: another
---program runs it, or at_least is not over; false, message, code if it ran and the release failed, as when it took
---longer than at_most and the lock was "lost"
function Client:once(name, given, body)
    return once(self, name, given, body)
end

--- Returns a candidate for a name. Of the candidates of all programs, one is the leader. The candidate starts to wait
--- at once. It needs the events of this client; see Election:step().
---@param name string
---@param given? redlatch.ElectionOptions
---@return redlatch.Election? candidate, string? message, string? code
function Client:elect(name, given)
    return election.new(self, name, given)
end

--- Returns a semaphore: a number of permits that anybody may take and give back.
---@param name string
---@param given? redlatch.SemaphoreOptions
---@return redlatch.Semaphore
function Client:semaphore(name, given)
    return semaphore.new(self, name, given)
end

--- Returns a permit semaphore. Each of its permits has an id and a lease: the permits of a dead program are free again
--- when their leases are over.
---@param name string
---@param given? redlatch.SemaphoreOptions
---@return redlatch.PermitSemaphore
function Client:permit_semaphore(name, given)
    return permits.new(self, name, given)
end

--- Returns a count-down latch. Its waiters go on when it was counted down as often as it was set to.
---@param name string
---@param given? redlatch.LatchOptions
---@return redlatch.Latch
function Client:latch(name, given)
    return latch.new(self, name, given)
end

--- Releases all holds, unless `release_on_close` is false, and ends the client. Takes at most the `close_timeout` of
--- `tuning`. Closing twice is harmless.
---@return true? done, string? message, string? code
function Client:close()
    self._closed = true
    local status, message = core.client_close(self._handle)
    return outcome.result(status, message)
end

--- Replaces the user and the password, also on the open connections. Returns at once. Holds and waits go on. If the
--- server refuses them, there is an event "credentials_refused", and open connections keep the old ones.
---@param username? string nil: the default user
---@param password string a password or a token
---@return true? done, string? message, string? code
function Client:set_credentials(username, password)
    if username ~= nil then
        settings.check_text(username, "username")
    end
    settings.check_text(password, "password")
    local status, message = core.client_set_credentials(self._handle, username, password)
    return outcome.result(status, message)
end

--- Returns whether close() was called.
---@return boolean
function Client:closed()
    return self._closed
end

--- Returns the uuid, which is the first part of every owner id that this client writes.
---@return string
function Client:uuid()
    return core.client_uuid(self._handle)
end

--- Returns the URL in use, with defaults for what the given URL left out, and without user and password.
---@return string
function Client:url()
    return core.client_url(self._handle)
end

--- Returns what the server knows of a name, a lock or not, whoever wrote it: who holds it, for how long, who is queued.
---@param name string
---@param owner? string an owner id as of a party, which is listed first if it holds the name
---@return redlatch.Report? report, string? message, string? code
function Client:inspect(name, owner)
    return reports.inspect(self, settings.check_name(name), reports.check_owner(owner))
end

--- Starts inspect() and returns at once. Its event is "answered", with the report as `value`.
---@param name string
---@param owner? string
---@return integer? tag, string? message, string? code
function Client:start_inspect(name, owner)
    return reports.start_inspect(self, settings.check_name(name), reports.check_owner(owner))
end

--- Returns an iterator over the locks whose names match: `for report in client:scan("orders:*") do`. It never blocks
--- the server for long. As with Redis's SCAN, a lock that exists all the time is found, perhaps more than once.
--- Failures are raised.
---@param pattern? string a glob of Redis, after the client's prefix; default: "", which matches all names
---@return fun(): redlatch.Report?
function Client:scan(pattern)
    return reports.scan(self, settings.check_pattern(pattern))
end

--- Returns a walk over the same locks: each Walk:start_next() finds one. No command is sent yet.
---@param pattern? string as of scan()
---@return redlatch.Walk
function Client:walk(pattern)
    return walk.new(self, settings.check_pattern(pattern))
end

local OF_WAIT_FREE = {timeout = true}

local function free_wait_ms(given)
    local timeout = settings.check_known(given, OF_WAIT_FREE).timeout
    return timeout == nil and core.FOREVER or settings.wait(timeout, "timeout")
end

--- Waits until nobody holds a name, without acquiring it. Somebody may hold it again when this returns.
---@param name string
---@param given? {timeout: number?} seconds to wait: -1 for ever, 0 checks once; default: -1
---@return true? free, string? message, string? code "timeout" if it was held all the time
function Client:wait_free(name, given)
    return reports.wait_free(self, settings.check_name(name), free_wait_ms(given))
end

--- Starts wait_free() and returns at once. Its event is "free".
---@param name string
---@param given? {timeout: number?}
---@return integer? tag, string? message, string? code
function Client:start_wait_free(name, given)
    return reports.start_wait_free(self, settings.check_name(name), free_wait_ms(given))
end

--- Returns counters of what the client has done since it was opened. redlatch.h explains their names.
---@return table<string, integer>? stats, string? message, string? code
function Client:stats()
    local status, record = core.client_stats(self._handle)
    if status ~= core.OK then
        return outcome.failure(status, record)
    end
    local stats = {}
    for _, name in ipairs(keys(getmetatable(record)[".get"])) do
        stats[name] = record[name]
    end
    stats.struct_size, stats.reserved = nil, nil
    return stats
end

--- Returns a descriptor that is readable when next_event() has something to do. It belongs to the client: poll it,
--- never read or close it.
---@return integer? fd, string? message, string? code
function Client:event_fd()
    local status, fd = core.client_event_fd(self._handle)
    if status ~= core.OK then
        return outcome.failure(status, fd)
    end
    return fd
end

--- Does the work that is due, without blocking, and returns one event, such as that a started call is done or a hold
--- was lost. Returns false if there is none. Whenever the descriptor is readable, call this until it returns false.
---@return redlatch.Event|false|nil event, string? message, string? code
function Client:next_event()
    while true do
        local status, record, report, state = core.client_next_event(self._handle)
        if status == core.AGAIN then
            return false
        end
        if status ~= core.OK then
            return outcome.failure(status, record)
        end
        if record.status ~= core.AGAIN or not started.again(self, record.tag) then
            return event.of(self, record, report, state)
        end
    end
end

--- Cancels a started acquire or wait that is not done. Its event has the code "cancelled", or says that it was granted
--- before.
---@param tag integer what start_acquire() or start_wait() returned
---@return true? done, string? message, string? code
function Client:cancel(tag)
    if not self._started[tag] then
        outcome.misuse("tag is %s; expected that of a call which was started and whose event is still to come",
            outcome.shown(tag))
    end
    local status, message = core.client_cancel(self._handle, tag)
    return outcome.result(status, message)
end

function Client:__tostring()
    local state = self._closed and "closed" or "open"
    return string.format("redlatch.Client of %s, %s, uuid %s", self:url() or "?", state, self:uuid() or "?")
end

methods.guard(Client, "client")

return client
