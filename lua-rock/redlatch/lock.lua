--- Lock: a lock of any kind.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local hold = require "redlatch.hold"
local keys = require "redlatch.keys"
local methods = require "redlatch.methods"
local options = require "redlatch.options"
local outcome = require "redlatch.outcome"
local scope = require(_VERSION == "Lua 5.4" and "redlatch.scope_close" or "redlatch.scope_pcall")
local started = require "redlatch.started"

---@class redlatch.AcquireOptions
---@field timeout? number seconds to wait: -1 for ever, 0 tries once; default: the lock's
---@field lease? number seconds of a fixed lease, or -1 for one that is renewed; default: the lock's

---@class redlatch.LockOptions
---@field timeout? number seconds that an acquire waits: -1 for ever, 0 tries once; default: -1
---@field lease? number seconds of a fixed lease, or -1 for one that is renewed while the lock is held; default: -1
---@field max_hold? number seconds after which a hold is no longer renewed, or -1 for no limit; default: -1
---@field owner? table|thread|userdata who holds the lock, such as a coroutine. Lock objects of the same client, name
---and owner are one owner, and need the same options but timeout, lease and confirm_release. What they hold is released
---when all of them are collected; default: the lock object itself
---@field reentrant? boolean whether the owner may acquire it again; default: true
---@field confirm_release? boolean whether a release waits for the server's reply, see Lock:release(); default: true
---@field token_from_time? boolean of a fenced lock: a new token is at least the server's time in microseconds, so that
---tokens rise also after the server lost their counter; the same for all users of the name; default: false
---@field back_off_initial? number of a spin lock: seconds of the first pause between two attempts; default: 0.001
---@field back_off_max? number of a spin lock: seconds of the longest pause; if equal to the first, all pauses have that
---length; default: 0.128
---@field back_off_multiplier? integer of a spin lock: the factor from one pause to the next; default: 2
---@field key_template? string of a plain lock: the key, with one {name} in it; default: "{name}"

---@class redlatch.ReleaseOptions
---@field confirm? boolean whether to wait for the server's reply; default: the lock's confirm_release

---@alias redlatch.LockKind
---| "mutex"
---| "fenced"
---| "fair"
---| "spin"
---| "read"
---| "write"
---| "plain"
---| "group"
---| "multi"
---| "redlock"

--- A lock on a name. Client:lock() and the functions for other kinds make it.
---@class redlatch.Lock
---@field package _client redlatch.Client
---@field package _handle userdata
---@field package _name string
---@field package _kind redlatch.LockKind
---@field package _wait_ms integer
---@field package _lease_ms integer
---@field package _confirm integer whether releases wait for the server's reply, as the core's argument `confirm`
---@field package _owner table|thread|userdata|nil kept alive by the lock object
---@field package _shared table? keeps alive the handles that the lock objects of one owner share
---@field package _members redlatch.Lock[]? of a multi lock or RedLock: kept alive, with their clients
local Lock = {}
Lock.__index = Lock
Lock.__name = "redlatch.Lock"

local lock = {}

local OF_EVERY_LOCK = {timeout = true, lease = true, max_hold = true, owner = true, confirm_release = true}

-- The options that lock objects of one handle have in common: the function that checks and converts the value, the
-- core's field if it has another name, and the kinds if it is an option of some kinds only.
local SETTINGS = {
    max_hold = {fits = options.limit, field = "max_hold_ms"},
    reentrant = {fits = options.flag, [core.MUTEX] = true, [core.FENCED] = true, [core.SPIN] = true,
        [core.FAIR] = true, [core.GROUP] = true, [core.READ] = true, [core.WRITE] = true},
    token_from_time = {fits = options.flag, [core.FENCED] = true},
    back_off_initial = {fits = options.span, field = "back_off_initial_ms", [core.SPIN] = true},
    back_off_max = {fits = options.span, field = "back_off_max_ms", [core.SPIN] = true},
    back_off_multiplier = {fits = options.multiplier, [core.SPIN] = true},
    key_template = {fits = options.bytes, [core.PLAIN] = true},
}

local SETTING_NAMES = keys(SETTINGS)

-- Returns the options of a kind of lock.
local function of_lock(kind)
    local known = {}
    for _, name in ipairs(keys(OF_EVERY_LOCK)) do
        known[name] = true
    end
    for _, name in ipairs(SETTING_NAMES) do
        known[name] = known[name] or SETTINGS[name][kind]
    end
    return known
end

local OF_ACQUIRE = {timeout = true, lease = true}
local OF_TRY = {lease = true}

-- As the number of an owner: the owner is the handle itself.
local SELF = 0

-- Returns the core's record of a lock's options. The owner is the handle.
local function record_of(given)
    local record = core.lock_options()
    record.owner_mode = core.OWNER_HANDLE
    if given.confirm_release ~= nil then
        record.confirm_release = options.flag(given.confirm_release, "confirm_release")
    end
    for _, setting in ipairs(keys(given)) do
        local known = SETTINGS[setting]
        if known then
            record[known.field or setting] = known.fits(given[setting], setting)
        end
    end
    return record
end

local function new_handle(client, kind, name, record, values)
    if values then
        return core.group_lock_new(client._handle, name, values, record)
    end
    return core.lock_new(client._handle, kind, name, record)
end

-- Returns a text that is the same for lists of the same strings, whatever their order and number.
local function list_key(values)
    local sorted, key = {}, {}
    for i, value in ipairs(values) do
        sorted[i] = value
    end
    table.sort(sorted)
    for i, value in ipairs(sorted) do
        if value ~= sorted[i - 1] then
            key[#key + 1] = #value .. ":" .. value
        end
    end
    return table.concat(key)
end

-- Returns what the lock objects of one owner and name share: their handles by kind, and for the two locks of a
-- read-write lock their owner number. A finaliser of a handle releases what its owner holds. It may run some time after
-- the collector has cleared weak values, so all handles of one number are collected together.
local function shared_of(client, kind, name, given, values)
    local owner = given.owner
    if type(owner) ~= "table" and type(owner) ~= "thread" and type(owner) ~= "userdata" then
        outcome.misuse("owner is %s, a %s; expected a table, coroutine or userdata", outcome.shown(owner), type(owner))
    end
    local by_name = client._shared[owner]
    if not by_name then
        by_name = setmetatable({}, {__mode = "v"})
        client._shared[owner] = by_name
    end
    local of_pair = kind == core.READ or kind == core.WRITE
    local place = table.concat({of_pair and "read_write" or kind, given.key_template or "",
        values and list_key(values) or "", name}, ":")
    local shared = by_name[place]
    if not shared then
        shared = {number = of_pair and select(2, core.owner_new()) or nil}
        by_name[place] = shared
    end
    return shared
end

local function check_same(record, of_other)
    for _, setting in ipairs(SETTING_NAMES) do
        local field = SETTINGS[setting].field or setting
        if record[field] ~= of_other[field] then
            outcome.misuse("%s differs from that of another lock object with this name and owner; expected the same",
                setting)
        end
    end
end

-- Returns the handle that the lock objects of one owner, name and kind share. For the core the handle is the owner.
local function shared_handle(client, kind, name, record, given, values)
    local shared = shared_of(client, kind, name, given, values)
    local of_kind = shared[kind]
    if not of_kind then
        record.owner = shared.number or 0
        local status, handle = new_handle(client, kind, name, record, values)
        if status ~= core.OK then
            return status, handle
        end
        of_kind = {handle = handle, record = record}
        shared[kind] = of_kind
    else
        check_same(record, of_kind.record)
        -- Fails for a client that is closed, as a new handle does.
        local status, message = core.lock_hold_status(of_kind.handle, SELF)
        if status ~= core.OK then
            return status, message
        end
    end
    return core.OK, of_kind.handle, shared
end

--- Returns a new lock object. `values` are those of a group lock.
function lock.new(client, kind, name, given, values)
    options.check_name(name)
    given = options.check_known(given, of_lock(kind))
    local lease_ms, wait_ms = core.RENEWED, core.FOREVER
    if given.lease ~= nil then
        lease_ms = options.lease(given.lease, "lease")
    end
    if given.timeout ~= nil then
        wait_ms = options.wait(given.timeout, "timeout")
    end
    local record = record_of(given)
    local status, handle, shared
    if given.owner ~= nil then
        status, handle, shared = shared_handle(client, kind, name, record, given, values)
    else
        status, handle = new_handle(client, kind, name, record, values)
    end
    if status ~= core.OK then
        -- The client is closed, or it is the parent process's. Many callers would not check a result of nil.
        outcome.misuse("%s", handle)
    end
    return setmetatable({
        _client = client,
        _handle = handle,
        _name = name,
        _kind = core.kind_name(kind),
        _wait_ms = wait_ms,
        _lease_ms = lease_ms,
        _confirm = record.confirm_release,
        _owner = given.owner,
        _shared = shared,
    }, Lock)
end

local OF_SEVERAL = {timeout = true, lease = true, max_hold = true}
local OF_MAJORITY = {timeout = true, lease = true, max_hold = true, allow_few = true}

-- Returns the handle of a multi lock, or with `majority` of a RedLock.
local function composite_handle(members, majority, given)
    local record, handles = core.lock_options(), {}
    record.owner_mode = core.OWNER_HANDLE
    record.max_hold_ms = given.max_hold == nil and core.FOREVER or options.limit(given.max_hold, "max_hold")
    for place, member in ipairs(members) do
        if getmetatable(member) ~= Lock then
            local shown = outcome.shown(member)
            outcome.misuse("member %d is %s, a %s; expected a redlatch.Lock", place, shown, type(member))
        end
        handles[place] = member._handle
    end
    if majority then
        local few = given.allow_few ~= nil and options.flag(given.allow_few, "allow_few") or 0
        return core.redlock_new(handles, few, record)
    end
    return core.multi_lock_new(handles, record)
end

--- Returns a lock object for several locks. `members` is a list of lock objects, which keep their clients alive.
function lock.composite(members, majority, given)
    options.check_list(members, "member", "redlatch.Lock")
    given = options.check_known(given, majority and OF_MAJORITY or OF_SEVERAL)
    local status, handle = composite_handle(members, majority, given)
    if status ~= core.OK then
        outcome.misuse("%s", handle)
    end
    local names = {}
    for place, member in ipairs(members) do
        names[place] = member._name
    end
    return setmetatable({
        _client = members[1]._client,
        _handle = handle,
        _name = table.concat(names, ", "),
        _kind = majority and "redlock" or "multi",
        _wait_ms = given.timeout == nil and core.FOREVER or options.wait(given.timeout, "timeout"),
        _lease_ms = given.lease == nil and core.RENEWED or options.lease(given.lease, "lease"),
        _confirm = core.CONFIRM_OF_LOCK,
        _members = members,
    }, Lock)
end

-- Returns the lease and the timeout of an acquire, in milliseconds.
local function terms(self, given, known)
    local lease_ms, wait_ms = self._lease_ms, self._wait_ms
    if given ~= nil then
        options.check_known(given, known)
        if given.lease ~= nil then
            lease_ms = options.lease(given.lease, "lease")
        end
        if given.timeout ~= nil then
            wait_ms = options.wait(given.timeout, "timeout")
        end
    end
    return lease_ms, wait_ms
end

local function obtain(self, lease_ms, wait_ms)
    return outcome.result(core.lua_acquire(self._handle, SELF, lease_ms, wait_ms))
end

--- Acquires the lock, and waits for it. An owner that holds it already acquires it once more, and must release it as
--- often.
---@param given? redlatch.AcquireOptions
---@return true? acquired, string? message, string? code "timeout" if another owner held it all the time
function Lock:acquire(given)
    local lease_ms, wait_ms = terms(self, given, OF_ACQUIRE)
    return obtain(self, lease_ms, wait_ms)
end

--- Acquires the lock if that is possible at once.
---@param given? {lease: number?}
---@return true? acquired, string? message, string? code "timeout" if another owner holds it
function Lock:try_acquire(given)
    local lease_ms = terms(self, given, OF_TRY)
    return obtain(self, lease_ms, 0)
end

--- Releases one acquire. With `confirm = false` it returns when the command is written, and does not wait for the
--- server's reply. A failure then becomes an event "release_failed". The owner may acquire again at once. A thread or
--- process that learns of the call before the server may still find the lock held. Client:close() waits for the reply.
---@param given? redlatch.ReleaseOptions
---@return true? released, string? message, string? code "not_owned" if it was not held, "lost" if the hold was lost,
---string? reason why it was lost
function Lock:release(given)
    local confirm = options.confirmation(given, self._confirm)
    local status, message, reason, serial = core.release_named(self._handle, SELF, confirm)
    local state = status == core.LOST and self._client._states[serial]
    if state then
        state.lost, state.reason = true, reason
    end
    return outcome.result(status, message, reason)
end

--- Sets the end of the lease to this many seconds from now, also if that is sooner than before. A lock that is renewed
--- is still renewed.
---@param seconds number
---@return true? extended, string? message, string? code
function Lock:extend(seconds)
    local lease_ms = options.span(seconds, "seconds")
    return outcome.result(core.lock_extend(self._handle, SELF, lease_ms))
end

--- Acquires the lock and returns the hold, which releases it once. In Lua 5.4:
--- `local held <close> = assert(lock:acquire_hold())`.
---@param given? redlatch.AcquireOptions
---@return redlatch.Hold? held, string? message, string? code
function Lock:acquire_hold(given)
    local lease_ms, wait_ms = terms(self, given, OF_ACQUIRE)
    local done, message, code = obtain(self, lease_ms, wait_ms)
    if not done then
        return nil, message, code
    end
    return hold.new(self)
end

--- Calls a function while the lock is held, and releases the lock when the function returns or raises an error. The
--- error is raised again after the release. In PUC Lua 5.1 the function may not yield.
---@param body fun(held: redlatch.Hold): ...
---@param given? redlatch.AcquireOptions
---@return boolean? done true, then what the function returned; nil, message, code if the lock was not acquired and the
---function did not run; false, message, code if it ran and the release failed, as when the lock was "lost" meanwhile
function Lock:with(body, given)
    options.check_callable(body)
    local lease_ms, wait_ms = terms(self, given, OF_ACQUIRE)
    local done, message, code = obtain(self, lease_ms, wait_ms)
    if not done then
        return nil, message, code
    end
    local held
    held, message, code = hold.new(self)
    if not held then
        return nil, message, code
    end
    return scope(held, body)
end

--- Returns the core's record of this owner's hold, as far as this process knows.
local function standing(self)
    local status, record = core.lock_hold_status(self._handle, SELF)
    if status ~= core.OK then
        return outcome.failure(status, record)
    end
    return record
end

--- Returns how many acquires are still to be released; 0 also if the hold was lost. No command is sent.
---@return integer? count, string? message, string? code
function Lock:hold_count()
    local now, message, code = standing(self)
    if not now then
        return nil, message, code
    end
    return hold.is_alive(now) and now.count or 0
end

--- Returns the seconds of safe time left, in which nobody else can hold the lock; 0 if it is not held. No command is
--- sent.
---@return number? seconds, string? message, string? code
function Lock:remaining()
    local now, message, code = standing(self)
    if not now then
        return nil, message, code
    end
    return now.remaining_ms / 1000
end

--- Returns whether the hold was lost and not released since. No command is sent.
---@return boolean? lost, string? reason "expired", "missing", "max_hold" or "abandoned"; if lost is nil, the message,
---string? code
function Lock:lost()
    local now, message, code = standing(self)
    if not now then
        return nil, message, code
    end
    return now.state == core.GONE, outcome.reason(now.reason)
end

--- What the server knew of a lock when it was queried.
---@class redlatch.LockState
---@field locked boolean whether anybody holds the lock
---@field ttl number seconds left of the holder's lease; 0 if nobody holds the lock, math.huge if the hold has no lease
---@field owner? string the owner id of the holder, "uuid:number"; of several holders that of one
---@field count integer the hold count of that owner; 0 if nobody holds the lock
---@field holders integer how many hold the lock at the same time; a read lock may have several
---@field waiters integer how many queue on the server for a fair lock, in all processes; 0 for other kinds

local function state_of(record)
    return {
        locked = record.locked == 1,
        ttl = record.ttl_ms == -1 and math.huge or record.ttl_ms / 1000,
        owner = record.owner ~= "" and record.owner or nil,
        count = record.count,
        holders = record.holders,
        waiters = record.waiters,
    }
end

--- Queries the lock, whoever holds it. This is one round trip; for a lock over several servers, one to each at the same
--- time.
---@return redlatch.LockState? state, string? message, string? code
function Lock:state()
    local status, record = core.lock_query(self._handle)
    if status ~= core.OK then
        return outcome.failure(status, record)
    end
    return state_of(record)
end

--- Deletes the lock, whoever holds it, and notifies waiters. The holder learns of it by its next call or renewal, which
--- comes within a third of the watchdog lease.
---@return boolean? released whether there was one, string? message, string? code
function Lock:force_release()
    local status, released = core.lock_force_release(self._handle)
    if status ~= core.OK then
        return outcome.failure(status, released)
    end
    return released == 1
end

--- Returns the name as it was given, without the client's prefix.
---@return string
function Lock:name()
    return self._name
end

--- Returns the kind of the lock, such as "mutex" or "fenced".
---@return redlatch.LockKind
function Lock:kind()
    return self._kind
end

local function start(self, call, ...)
    return started.begin(self._client, {object = self, field = "lock"}, call, SELF, ...)
end

--- Starts an acquire and returns at once. Its event, "acquired", comes from Client:next_event() with the tag.
---@param given? redlatch.AcquireOptions
---@return integer? tag, string? message, string? code
function Lock:start_acquire(given)
    local lease_ms, wait_ms = terms(self, given, OF_ACQUIRE)
    return start(self, core.lock_start_acquire, lease_ms, wait_ms)
end

--- Starts a release and returns at once. Its event is "released".
---@param given? redlatch.ReleaseOptions
---@return integer? tag, string? message, string? code
function Lock:start_release(given)
    return start(self, core.lock_start_release_with, options.confirmation(given, self._confirm))
end

--- Starts an extend and returns at once. Its event is "extended".
---@param seconds number
---@return integer? tag, string? message, string? code
function Lock:start_extend(seconds)
    return start(self, core.lock_start_extend, (options.span(seconds, "seconds")))
end

-- Starts a call that has no owner, such as a query.
local function start_requesting(self, value, call)
    return started.begin(self._client, {object = self, field = "lock", value = value}, call)
end

local function state_in(_, _, record)
    return state_of(record)
end

--- Starts state() and returns at once. Its event is "answered", with the result of state() as `value`.
---@return integer? tag, string? message, string? code
function Lock:start_state()
    return start_requesting(self, state_in, core.lock_start_query)
end

--- Starts force_release() and returns at once. Its event is "answered", with the result as `value`.
---@return integer? tag, string? message, string? code
function Lock:start_force_release()
    return start_requesting(self, function(record)
        return record.number == 1
    end, core.lock_start_force_release)
end

--- Returns the hold of a started acquire or of acquire(), false if there is none. No command is sent.
---@return redlatch.Hold|false|nil held, string? message, string? code
function Lock:held()
    local now, message, code = standing(self)
    if not now then
        return nil, message, code
    end
    return now.state ~= core.NOT_HELD and hold.of(self, now)
end

function Lock:__tostring()
    return string.format("redlatch.Lock %q (%s)", self._name, self._kind)
end

methods.guard(Lock, "lock")

return lock
