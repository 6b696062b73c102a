--- Calls everything public of the Lua module with random values, on a private server.
--
--     lua_calls.lua SOCKET SECONDS SEED [ROUND]       as many rounds as there is time for, or only one
--
-- With any arguments, a call returns or raises the module's error of a misuse. An error of Lua itself, such as an
-- attempt to index nil, is a finding, and so is a crash. Every wait has an end, since nothing could interrupt it.
-- SPDX-License-Identifier: Apache-2.0

local redlatch = require "redlatch"

local CALLS_IN_ROUND = 60
local socket, seconds, seed, only = arg[1], tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4])

local state = seed

--- Returns a number from 1 to n, the same in every Lua.
local function draw(n)
    state = (state * 16807 + 12345) % 2147483647
    return state % n + 1
end

local function one_of(list)
    return list[draw(#list)]
end

local NAN, HUGE = 0 / 0, math.huge
local VALUES = {
    0, 1, -1, 2, 0.5, 1e-9, 1e300, -1e300, NAN, HUGE, -HUGE, 2 ^ 53, 2 ^ 31, 2 ^ 63, 1000,
    "", "a", "b", "a\0b", "{a}", "-1", ("x"):rep(65535), ("x"):rep(70000), "\255\254", "*",
    true, false, print, coroutine.create(function() end), io.stdout, {}, {"a", "b"}, {1, 2, {}},
}
-- Keys of option tables. Their waits always have an end.
local WORDS = {"timeout", "lease", "max_hold", "permits", "wait", "ttl", "reentrant", "owner", "bogus",
               "token_from_time", "key_template", "release_on_close", 1, 2}
local TIMES = {0, 0.001, 0.02, 1, "0", NAN, -2, {}}
local NAMES = {"a", "b", "c"}

local objects

local function value()
    local chance = draw(10)
    if chance <= 3 then
        return one_of(NAMES)
    elseif chance <= 5 then
        return one_of(objects)
    end
    return one_of(VALUES)
end

local function options()
    if draw(12) == 1 then
        return value()
    end
    local given = {timeout = one_of(TIMES)}
    for _ = 1, draw(3) - 1 do
        local word = one_of(WORDS)
        given[word] = word == "timeout" and one_of(TIMES) or value()
    end
    return given
end

-- Methods that wait forever by default: the place of their options among the arguments.
local WAITS = {acquire = 1, hold = 1, wait = 1, with = 2, acquire_many = 2, wait_free = 2}
-- A lock with this option has a timeout for all its calls, so a call without a timeout ends, too.
local TIMED = {timeout = 0.02}

local function body(...)
    return ...
end

local function arguments(name)
    local given, count = {}, draw(4) - 1
    for i = 1, count do
        given[i] = draw(3) == 1 and options() or value()
    end
    local place = WAITS[name]
    if place then
        for i = 1, place - 1 do
            given[i] = name == "with" and body or given[i] == nil and "a" or given[i]
        end
        given[place] = {timeout = one_of(TIMES), lease = draw(4) == 1 and value() or nil}
        count = place
    elseif name:find("lock$") then
        given[1], given[2], count = value(), draw(2) == 1 and TIMED or options(), 2
    end
    return given, count
end

--- The methods that an object has, by name.
local function methods(object)
    local found = {}
    local meta = debug.getmetatable(object)
    local index = meta and meta.__index
    if type(index) == "table" then
        for name, method in pairs(index) do
            if type(name) == "string" and type(method) == "function" then
                found[#found + 1] = name
            end
        end
    end
    table.sort(found)
    return found
end

local unpack = table.unpack or unpack -- luacheck: ignore 113/unpack
local reported

local function is_misuse(message)
    return type(message) == "string" and message:find("redlatch: ", 1, true) ~= nil
end

local function call_one()
    local object = one_of(objects)
    local names = methods(object)
    if #names == 0 then
        return true
    end
    local name = one_of(names)
    if name:find("^__") or (name == "close" and draw(20) > 1) then
        return true
    end
    local given, count = arguments(name)
    local shown = {}
    for i = 1, count do
        shown[i] = type(given[i]) == "string" and ("%q"):format(given[i]:sub(1, 20)) or tostring(given[i])
    end
    reported[#reported + 1] = ("%s:%s(%s)"):format(tostring(object), name, table.concat(shown, ", "))
    local receiver = draw(25) == 1 and value() or object
    local good, result = pcall(object[name], receiver, unpack(given, 1, count))
    if not good then
        reported[#reported] = reported[#reported] .. " raised " .. tostring(result)
        return is_misuse(result)
    end
    if (type(result) == "table" or type(result) == "userdata") and #methods(result) > 0 and #objects < 40 then
        objects[#objects + 1] = result
    end
    return true
end

local function play()
    local client = assert(redlatch.connect("unix://" .. socket,
                                           {command_timeout = 1, watchdog_lease = 1, tuning = {close_timeout = 0.1}}))
    objects, reported = {client}, {}
    for _, kind in ipairs {"lock", "fenced_lock", "fair_lock", "spin_lock", "plain_lock", "read_write_lock"} do
        objects[#objects + 1] = client[kind](client, one_of(NAMES), TIMED)
    end
    for _, kind in ipairs {"semaphore", "permit_semaphore", "latch"} do
        objects[#objects + 1] = client[kind](client, one_of(NAMES))
    end
    for _ = 1, CALLS_IN_ROUND do
        if not call_one() then
            return false
        end
        if draw(30) == 1 then
            collectgarbage()
        end
    end
    client:close()
    return true
end

local begun = os.time()
local rounds = 0
repeat
    local round = only or rounds
    state = (seed * 7919 + round * 104729) % 2147483647
    if not play() then
        io.stderr:write(table.concat(reported, "\n"), "\nthe last call raised what is not redlatch's\n",
                        ("replay it with: ./dev fuzz lua --seed %d --round %d\n"):format(seed, round))
        os.exit(1)
    end
    rounds = rounds + 1
until only or os.time() - begun >= seconds
print(("%d calls in %d rounds"):format(rounds * CALLS_IN_ROUND, rounds))
