--- Options: checks the arguments of callers, and fills the option records of the core. Times are seconds for callers
--- and milliseconds in the core.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local keys = require "redlatch.keys"
local outcome = require "redlatch.outcome"

local options = {}

-- Ten years, as in the core. Without this check the times of a lock would be refused only when they are used.
local SECONDS_MAX = 10 * 365 * 86400

local misuse, shown = outcome.misuse, outcome.shown

local function milliseconds(value, name, expected)
    if type(value) ~= "number" then
        misuse("%s is %s, a %s; expected %s, as a number", name, shown(value), type(value), expected)
    end
    if not (value >= 0 and value <= SECONDS_MAX) then -- no comparison holds for NaN
        misuse("%s is %s; expected %s, at most %d", name, shown(value), expected, SECONDS_MAX)
    end
    -- A time below a millisecond becomes 1 and not 0, which has a meaning of its own.
    return value == 0 and 0 or math.max(math.floor(value * 1000 + 0.5), 1)
end

local function more_than_nothing(value, name, expected)
    local count = milliseconds(value, name, expected)
    if count == 0 then
        misuse("%s is 0; expected %s", name, expected)
    end
    return count
end

--- Converts a duration above 0.
function options.span(value, name)
    return more_than_nothing(value, name, "more than 0 seconds")
end

--- Converts a duration that may be 0.
function options.delay(value, name)
    return milliseconds(value, name, "0 or more seconds")
end

--- Converts a timeout.
function options.wait(value, name)
    if value == -1 then
        return core.FOREVER
    end
    return milliseconds(value, name, "-1 to wait for ever, 0 to try once, or seconds")
end

--- Converts a lease.
function options.lease(value, name)
    if value == -1 then
        return core.RENEWED
    end
    return more_than_nothing(value, name, "-1 for a lease that is renewed, or more than 0 seconds")
end

--- Converts a limit.
function options.limit(value, name)
    if value == -1 then
        return core.FOREVER
    end
    return more_than_nothing(value, name, "-1 for no limit, or more than 0 seconds")
end

--- Converts a boolean to the core's 1 or 0.
function options.flag(value, name)
    if type(value) ~= "boolean" then
        misuse("%s is %s, a %s; expected true or false", name, shown(value), type(value))
    end
    return value and 1 or 0
end

--- Checks a whole number within bounds.
function options.whole(value, name, least, most)
    if type(value) ~= "number" then
        misuse("%s is %s, a %s; expected a whole number", name, shown(value), type(value))
    end
    if not (value >= least and value <= most) or value ~= math.floor(value) then
        misuse("%s is %s; expected a whole number, %d to %d", name, shown(value), least, most)
    end
    return value
end

--- Checks the factor from one pause to the next.
function options.multiplier(value, name)
    return options.whole(value, name, 1, 1000)
end

--- Checks a number of permits or a count, which Redisson must be able to read.
function options.amount(value, name, least)
    return options.whole(value, name, least, core.PERMITS_MAX)
end

--- Checks that a value is a function, or can be called as one.
function options.check_callable(body, what)
    if type(body) ~= "function" then
        local meta = getmetatable(body)
        if type(meta) ~= "table" or not meta.__call then
            misuse("%s is %s; expected a function", what or "the argument of with", shown(body))
        end
    end
end

--- Checks a text for C, where a NUL would end it. The error does not show the text, which may be a password.
function options.check_text(value, name)
    if type(value) ~= "string" then
        misuse("%s is a %s; expected a string", name, type(value))
    end
    if value:find("\0", 1, true) then
        misuse("%s holds a NUL byte; expected a string without one", name)
    end
    return value
end

--- Checks a string of any bytes.
function options.bytes(value, name)
    if type(value) ~= "string" then
        misuse("%s is %s, a %s; expected a string", name, shown(value), type(value))
    end
    return value
end

--- Checks the name of a lock, which may have any bytes.
function options.check_name(value)
    if #options.bytes(value, "name") < 1 or #value > core.NAME_SIZE_MAX then
        misuse("name is %d bytes long; expected 1 to %d", #value, core.NAME_SIZE_MAX)
    end
    return value
end

--- Checks a pattern for names, which may have any bytes. nil becomes the empty pattern, which matches all names.
function options.check_pattern(value)
    value = value == nil and "" or value
    if #options.bytes(value, "pattern") > core.NAME_SIZE_MAX then
        misuse("pattern is %d bytes long; expected at most %d", #value, core.NAME_SIZE_MAX)
    end
    return value
end

--- Checks a list without holes, because Lua does not define where a list with holes ends. `item` is the noun for one
--- element in messages.
function options.check_list(list, item, expected)
    if type(list) ~= "table" then
        misuse("%ss are %s, a %s; expected a list of %s", item, shown(list), type(list), expected)
    end
    local last
    for _, place in ipairs(keys(list)) do
        if type(place) == "number" then
            last = math.max(last or place, place)
        end
    end
    if not last then
        misuse("there are no %ss; expected a list of %s, at least one", item, expected)
    end
    for place = 1, last do
        if list[place] == nil then
            misuse("%s %d is nil; expected a list of %s without holes", item, place, expected)
        end
    end
    return list
end

--- Checks a list of strings of any bytes.
function options.check_values(values)
    for i, value in ipairs(options.check_list(values, "value", "strings")) do
        options.bytes(value, "value " .. i)
    end
    return values
end

--- Refuses a value that is no table of options. Returns an empty table for nil.
---@param given? table
---@return table
function options.check_table(given)
    if given ~= nil and type(given) ~= "table" then
        misuse("options are %s, a %s; expected a table", shown(given), type(given))
    end
    return given or {}
end

--- Refuses a value that is no table of known options. Returns an empty table for nil.
---@param given? table
---@param known table<string, any>
function options.check_known(given, known)
    given = options.check_table(given)
    for _, name in ipairs(keys(given)) do
        if not known[name] then
            local names = keys(known)
            table.sort(names)
            misuse("there is no option %s; known are %s", shown(name), table.concat(names, ", "))
        end
    end
    return given
end

local OF_RELEASE = {confirm = true}

--- Returns the core's argument `confirm` of a release: `usual`, that of the lock, without an option.
function options.confirmation(given, usual)
    local confirm = options.check_known(given, OF_RELEASE).confirm
    return confirm == nil and usual or options.flag(confirm, "confirm")
end

-- The options of connect(), each with the function that checks and converts its value. A time fills the core's field
-- that has its name with `_ms`.
local TIMES = {
    watchdog_lease = options.span,
    connect_timeout = options.span,
    command_timeout = options.span,
    unreachable_timeout = options.span,
    fair_timeout = options.span,
    replica_timeout = options.span,
    -- of `tuning`
    dead_peer_timeout = options.span,
    dns_interval = options.span,
    close_timeout = options.delay,
    claim_timeout = options.span,
    linger = options.delay,
}
local OF_TUNING = {
    busy_poll = options.flag,
    linger = TIMES.linger,
    dead_peer_timeout = TIMES.dead_peer_timeout,
    dns_interval = TIMES.dns_interval,
    close_timeout = TIMES.close_timeout,
    claim_timeout = TIMES.claim_timeout,
    sharded_messages = options.check_text,
}

local AFTER_FORK = {reopen = core.AFTER_FORK_REOPEN, refuse = core.AFTER_FORK_REFUSE}

local OF_CLIENT = {
    watchdog_lease = TIMES.watchdog_lease,
    connect_timeout = TIMES.connect_timeout,
    command_timeout = TIMES.command_timeout,
    unreachable_timeout = TIMES.unreachable_timeout,
    fair_timeout = TIMES.fair_timeout,
    replica_timeout = TIMES.replica_timeout,
    min_replicas = function(value, name)
        return options.whole(value, name, 0, 100)
    end,
    durable = options.flag,
    lazy = options.flag,
    release_on_close = options.flag,
    after_fork = function(value, name)
        local fit = AFTER_FORK[value]
        if not fit then
            misuse("%s is %s; expected \"reopen\" or \"refuse\"", name, shown(value))
        end
        return fit
    end,
    database = function(value, name)
        return options.whole(value, name, 0, 1000000)
    end,
    username = options.check_text,
    password = options.check_text,
    tls_ca_file = options.check_text,
    tls_ca_dir = options.check_text,
    tls_cert_file = options.check_text,
    tls_key_file = options.check_text,
    tls_server_name = options.check_text,
    tls_verify = options.check_text,
    tls_min_version = options.check_text,
    sentinel_username = options.check_text,
    sentinel_password = options.check_text,
    name_prefix = options.bytes,
    label = options.check_text,
    tuning = function(value, name)
        if type(value) ~= "table" then
            misuse("%s is %s, a %s; expected a table of options", name, shown(value), type(value))
        end
        return options.check_known(value, OF_TUNING)
    end,
}

-- Writes options into the core's record. An option that is itself a table of options (`tuning`) fills the same record.
local function fill(record, given, known)
    for _, name in ipairs(keys(given)) do
        local fit = known[name](given[name], name)
        if type(fit) == "table" then
            fill(record, fit, OF_TUNING)
        else
            record[TIMES[name] and name .. "_ms" or name] = fit
        end
    end
end

--- Returns the core's record for the given options of connect().
function options.of_client(given)
    local record = core.client_options()
    record.language = core.LANGUAGE_LUA
    fill(record, options.check_known(given, OF_CLIENT), OF_CLIENT)
    return record
end

return options
