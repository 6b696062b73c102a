--- Scenes: acquiring and releasing, what is answered and what is raised.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local redlatch = require "redlatch"
local stage = require "stage"

local same, check, fails, raises = stage.same, stage.check, stage.fails, stage.raises
local scenes = {}

function scenes.example(url, name)
    local client = assert(redlatch.connect(url))
    local lock = client:lock(name, {timeout = 5})
    local ok, err, code = lock:acquire()
    same(ok, true)
    same(err, nil)
    same(code, nil)
    check(lock:state().locked, "locked")
    same(lock:release(), true)
    same(lock:state().locked, false)
    local token = "unset"
    same(lock:with(function(held) token = held:token() end), true)
    same(token, nil)
    same(client:close(), true)
end

function scenes.reentrant(url, name)
    local client = assert(redlatch.connect(url))
    local lock = client:lock(name)
    for _ = 1, 3 do
        same(lock:acquire(), true)
    end
    same(lock:hold_count(), 3)
    for count = 2, 0, -1 do
        same(lock:release(), true)
        same(lock:hold_count(), count)
    end
    fails("not_owned", lock:release())
end

function scenes.exclusive(url, name)
    local client, other = assert(redlatch.connect(url)), assert(redlatch.connect(url))
    local mine, twin, theirs = client:lock(name), client:lock(name), other:lock(name)
    same(mine:acquire(), true)
    fails("timeout", twin:try_acquire())
    fails("timeout", theirs:try_acquire())
    local message = fails("timeout", theirs:acquire {timeout = 0.3})
    check(message:find(name, 1, true) and message:find("the wait of 0.3 s", 1, true), "name and wait: " .. message)
    fails("not_owned", theirs:release())
    same(mine:state().owner, theirs:state().owner)
    check(mine:state().owner:find(client:uuid(), 1, true), "the owner id begins with the client's uuid")
    same(mine:release(), true)
    same(mine:state().owner, nil)
    same(theirs:try_acquire(), true)
    same(theirs:release(), true)
end

function scenes.holders(url, name)
    local client, other = assert(redlatch.connect(url)), assert(redlatch.connect(url))
    local read = client:read_write_lock(name).read
    same(read:state().holders, 0)
    assert(read:acquire() and other:read_write_lock(name).read:acquire())
    same(read:state().holders, 2)
    same(math.type and math.type(read:state().holders) or "integer", "integer")
    assert(client:close())
    fails("closed", read:state())
end

function scenes.leases(url, name)
    local client = assert(redlatch.connect(url, {watchdog_lease = 20}))
    local lock = client:lock(name, {lease = 60})
    same(lock:remaining(), 0)
    same(lock:state().ttl, 0)
    same(lock:acquire(), true)
    stage.between(50, lock:remaining(), 60, "remaining")
    stage.between(50, lock:state().ttl, 60, "ttl")
    same(lock:extend(5), true)
    stage.between(1, lock:state().ttl, 5, "ttl after extend")
    same(lock:release(), true)
    same(lock:acquire {lease = -1}, true)
    stage.between(15, lock:state().ttl, 20, "ttl of a lease that is renewed")
    same(lock:release(), true)
    same(lock:try_acquire {lease = 3}, true)
    stage.between(1, lock:state().ttl, 3, "ttl of a lease of its own")
    same(lock:release(), true)
    fails("not_owned", lock:extend(5))
end

function scenes.lost(url, name)
    local client = assert(redlatch.connect(url))
    local other = assert(redlatch.connect(url))
    local lock = client:lock(name)
    local held = assert(lock:acquire_hold())
    same(held:lost(), false)
    same(lock:lost(), false)
    same(select(2, held:lost()), nil)
    same(other:lock(name):force_release(), true)
    same(other:lock(name):force_release(), false)
    fails("lost", lock:extend(5))
    same(held:lost(), true)
    same(lock:lost(), true)
    same(select(2, lock:lost()), "missing")
    same(held:remaining(), 0)
    same(held:count(), 0)
    local message = fails("lost", lock:acquire())
    check(message:find("release it first", 1, true), message)
    same(select(4, lock:acquire()), "missing")
    same(select(4, lock:release()), "missing")
    same(held:lost(), true, "a hold remembers its loss")
    same(select(2, held:lost()), "missing")
    message = fails("lost", held:release())
    check(message:find("missing", 1, true), message)
    same(lock:acquire(), true)
    same(held:lost(), true, "also when there is a new hold")
    same(held:remaining(), 0)
    same(lock:lost(), false)
    held = lock:held()
    same(other:lock(name):force_release(), true)
    fails("lost", lock:release())
    same(held:lost(), true, "a release of the lock tells its holds")
    same(select(2, held:lost()), "missing")
end

function scenes.holds(url, name)
    local client = assert(redlatch.connect(url))
    local lock = client:lock(name)
    same(lock:held(), false)
    local held = assert(lock:acquire_hold())
    local inner = assert(lock:acquire_hold {timeout = 0})
    same(held:count(), 2)
    same(inner:serial(), held:serial())
    same(held:owner(), lock:state().owner)
    same(inner:release(), true)
    fails("not_owned", inner:release())
    same(held:extend(3), true)
    stage.between(2, held:remaining(), 3)
    same(held:release(), true)
    same(held:lost(), false)
    same(lock:state().locked, false)
    local other = assert(redlatch.connect(url)):lock(name)
    same(other:acquire(), true)
    fails("timeout", lock:acquire_hold {timeout = 0.3})
    fails("timeout", lock:with(error, {timeout = 0}))
end

function scenes.with(url, name)
    local client = assert(redlatch.connect(url))
    local lock = client:lock(name)
    local results = {lock:with(function(held)
        check(lock:state().locked and held:count() == 1, "held inside")
        return nil, 2, nil
    end)}
    same(results[1], true)
    same(results[3], 2)
    same(lock:state().locked, false)
    local raised = {}
    local good, message = pcall(lock.with, lock, function() error(raised) end)
    same(good, false)
    same(message, raised, "the error comes through untouched")
    same(lock:state().locked, false)
    check(lock:with(function(held) same(held:release(), true) end), "released inside")
    local ran = false
    local done, words, code = lock:with(function()
        ran = true
        lock:force_release()
    end)
    same(ran, true)
    same(done, false, "the function has run")
    same(code, "lost")
    check(type(words) == "string" and words:find(name, 1, true), "the message names the lock: " .. tostring(words))
    local other = client:lock(name)
    assert(other:acquire())
    fails("timeout", lock:with(error, {timeout = 0}))
    assert(other:release())
    good, message = pcall(lock.with, lock, function()
        lock:force_release()
        error("first", 0)
    end)
    same(message, "first", "a loss does not hide an error")
    same(good, false)
    same(lock:hold_count(), 0)
    same(lock:acquire(), true)
    same(lock:release(), true)
end

function scenes.once(url, name)
    local one, other = assert(redlatch.connect(url)), assert(redlatch.connect(url))
    local terms = {at_least = 60, at_most = 600}
    local results = {one:once(name, terms, function(held)
        return held:count(), "second"
    end)}
    same(results[1], true)
    same(results[2], 1)
    same(results[3], "second")
    fails("timeout", one:once(name, terms, error))
    fails("timeout", other:once(name, terms, error))
    local ttl = other:lock(name):state().ttl
    check(ttl > 58 and ttl <= 60, "it stays locked for the rest of at_least")
    same(one:stats().held, 0)
    one:close() -- which would release what is held
    check(other:lock(name):state().locked, "it was left")

    same(other:once(name .. "-2", {at_most = 60}, function() end), true)
    same(other:lock(name .. "-2"):state().locked, false)
    local good, message = pcall(other.once, other, name .. "-3", terms, function() error("of the job", 0) end)
    same(good, false)
    same(message, "of the job")
    check(other:lock(name .. "-3"):state().ttl > 58, "also after an error")
    local done, _, code = other:once(name .. "-4", {at_least = 0.05, at_most = 0.05}, function(held)
        while not held:lost() do end -- luacheck: ignore 542
    end)
    same(done, false)
    same(code, "lost")
    same(other:once(name .. "-5", {at_most = 60}, function(held) assert(held:extend(600)) end), true)
    same(other:lock(name .. "-5"):state().locked, false, "a longer lease")
    same(other:once(name .. "-6", terms, function(held) assert(held:extend(5)) end), true)
    check(other:lock(name .. "-6"):state().ttl > 58, "at_least counts from the grant, also after a shorter lease")

    raises("at_least is 9, at_most 5; expected at_least <= at_most", other.once, other, name,
        {at_least = 9, at_most = 5}, error)
    raises("at_most is nil, a nil; expected more than 0 seconds", other.once, other, name, {}, error)
    raises("the argument of once is nil; expected a function", other.once, other, name, terms)
    raises("at_last", other.once, other, name, {at_last = 5}, error)
    same(other:lock(name):force_release(), true)
    same(other:lock(name .. "-3"):force_release(), true)
    same(other:lock(name .. "-6"):force_release(), true)
    other:lock(name .. "-4"):force_release() -- whose lease may last a moment longer on the server
    other:close()
end

-- The test delays the reply to the extension beyond at_least.
function scenes.once_with_a_late_reply(url, name)
    local client, kept = assert(redlatch.connect(url)), nil
    same(client:once(name, {at_least = 0.2, at_most = 60}, function(held)
        kept = held
        same(stage.ask("running"), "replies are late")
    end), true)
    same(kept:lost(), false)
end

function scenes.binary_names(url, name)
    local client = assert(redlatch.connect(url))
    local every = {}
    for byte = 0, 255 do
        every[#every + 1] = string.char(byte)
    end
    local bytes = name .. table.concat(every)
    local lock, cut = client:lock(bytes), client:lock(name)
    same(lock:acquire(), true)
    same(cut:state().locked, false, "a NUL does not end a name")
    same(stage.ask("held"), "seen")
    same(lock:release(), true)
    same(lock:name(), bytes)
    local prefixed = assert(redlatch.connect(url, {name_prefix = name .. ":"}))
    local short = prefixed:lock("x")
    same(short:acquire(), true)
    same(client:lock(name .. ":x"):state().locked, true)
    same(short:release(), true)
end

function scenes.misuse(url, name)
    local client = assert(redlatch.connect(url))
    local lock = client:lock(name)
    local here = debug.getinfo(1, "S").short_src
    local message = raises("no option \"tiemout\"", function() client:lock(name, {tiemout = 5}) end)
    check(message:find("known are confirm_release, lease, max_hold, ", 1, true), "the known ones: " .. message)
    check(message:find(here, 1, true), "the caller's line is named: " .. message)
    raises("known are after_fork, command_timeout, connect_timeout, database", redlatch.connect, url, {leaze = 1})
    raises("no option \"linger\"; known are after_fork, command_timeout", redlatch.connect, url, {linger = 1})
    raises("known are busy_poll, claim_timeout, close_timeout", redlatch.connect, url, {tuning = {lazy = true}})
    raises("linger is -1; expected 0 or more seconds, at most 315360000",
        redlatch.connect, url, {tuning = {linger = -1}})
    raises("busy_poll is \"no\", a string; expected true or false",
        redlatch.connect, url, {tuning = {busy_poll = "no"}})
    raises("tuning is 5, a number; expected a table of options", redlatch.connect, url, {tuning = 5})
    raises("timeout is \"5\", a string; expected -1 to wait for ever, 0 to try once, or seconds, as a number",
        client.lock, client, name, {timeout = "5"})
    raises("timeout is -2; expected -1 to wait for ever, 0 to try once, or seconds, at most",
        lock.acquire, lock, {timeout = -2})
    raises("timeout is " .. tostring(0 / 0), lock.acquire, lock, {timeout = 0 / 0})
    raises("lease is 0; expected -1 for a lease that is renewed, or more than 0 seconds",
        lock.acquire, lock, {lease = 0})
    raises("max_hold is 0; expected -1 for no limit, or more than 0 seconds", client.lock, client, name, {max_hold = 0})
    raises("no option \"timeout\"", lock.try_acquire, lock, {timeout = 1})
    raises("options are 5, a number; expected a table", lock.acquire, lock, 5)
    raises("seconds is nil, a nil; expected more than 0 seconds, as a number", lock.extend, lock)
    raises("name is 0 bytes long; expected 1 to 65535", client.lock, client, "", {tiemout = 5})
    raises("name is 65536 bytes long; expected 1 to 65535", client.lock, client, ("x"):rep(65536))
    raises("name is 7, a number; expected a string", client.lock, client, 7)
    raises("owner is 7, a number", client.lock, client, name, {owner = 7})
    raises("lazy is 1, a number; expected true or false", redlatch.connect, url, {lazy = 1})
    raises("database is 0.5; expected a whole number, 0 to 1000000", redlatch.connect, url, {database = 0.5})
    raises("expected a whole number, 0 to 1000000", redlatch.connect, url, {database = 2 ^ 70})
    raises("expected a whole number, 1 to 1000", client.spin_lock, client, name, {back_off_multiplier = 0})
    raises("database is \"0\", a string; expected a whole number", redlatch.connect, url, {database = "0"})
    raises("url holds a NUL byte; expected a string without one", redlatch.connect, "redis://\0")
    raises("url is a number; expected a string", redlatch.connect, 5)
    raises("watchdog_lease_ms is 1", redlatch.connect, url, {watchdog_lease = 0.001})
    raises("expected redis://", redlatch.connect, "http://example.org")
    raises("the argument of with is table: ", lock.with, lock, {})
    raises("; expected a function", lock.with, lock, {})
    raises("release was called on nil; expected a redlatch.Lock before a colon, as in lock:release", lock.release)
    raises("acquire was called on table: ", lock.acquire, {timeout = 1})
    raises('lock was called on "orders"; expected a redlatch.Client before a colon', client.lock, "orders")
    local line = raises("scan was called on", function() return (client.scan("*")) end)
    check(line:find("basics.lua:", 1, true), "the caller's line: " .. line)
    raises("expected a redlatch.Hold before a colon, as in held:lost", function() lock:with(function(held)
        return held.lost()
    end) end)
    raises("tag is 5", client.cancel, client, 5)
    raises("code is \"nonsense\"; expected one that a failed call returned, such as 'timeout'",
        redlatch.is_retryable, "nonsense")
    same(redlatch.is_retryable("timeout"), true)
    same(redlatch.is_ambiguous("no_reply"), true)
    same(redlatch.is_ambiguous("timeout"), false)
    raises("database \"1\": expected 0", redlatch.connect, "redis+cluster://127.0.0.1/1")
    same(lock:state().locked, false)
end

function scenes.closed(url, name)
    local client = assert(redlatch.connect(url))
    local lock, owner = client:lock(name), {}
    local shared = client:lock(name, {owner = owner})
    local held = assert(lock:acquire_hold())
    local tag = assert(client:lock(name .. "-other"):start_acquire())
    same(client:closed(), false)
    same(client:close(), true)
    same(client:close(), true)
    same(client:closed(), true)
    fails("closed", lock:acquire())
    fails("closed", lock:state())
    fails("closed", held:release())
    check(tostring(client):find(", closed, uuid ", 1, true), "shown: " .. tostring(client))
    check(tostring(held):find(("^redlatch.Hold of %q by %%x+"):format(name:gsub("%p", "%%%0"))), tostring(held))
    same(held:remaining(), 0)
    fails("closed", client:cancel(tag))
    fails("closed", client:next_event())
    raises("closed", client.lock, client, name)
    raises("closed", client.lock, client, name, {owner = owner})
    fails("closed", shared:acquire())
    same(assert(redlatch.connect(url)):lock(name):state().locked, false, "closing released")
end

function scenes.stats(url, name)
    local client = assert(redlatch.connect(url))
    local lock = client:lock(name)
    for _ = 1, 5 do
        assert(lock:acquire())
        assert(lock:release())
    end
    local stats = assert(client:stats())
    same(stats.acquired, 5)
    same(stats.held, 0)
    same(stats.struct_size, nil)
    same(math.type and math.type(stats.acquired) or "integer", "integer")
    check(redlatch._VERSION:match("^%d+%.%d+%.%d+$"), "a version: " .. redlatch._VERSION)
    check(client:url():match("^redis://.*:%d+/%d+$"), "the URL in use: " .. client:url())
    same(tostring(client), ("redlatch.Client of %s, open, uuid %s"):format(client:url(), client:uuid()))
    same(tostring(lock), ("redlatch.Lock %q (mutex)"):format(name), "shown")
    local sides = client:read_write_lock("x")
    same(tostring(sides), 'redlatch.ReadWriteLock "x"')
    local kinds = {
        mutex = lock, fenced = client:fenced_lock("x"), fair = client:fair_lock("x"), spin = client:spin_lock("x"),
        plain = client:plain_lock("x"), group = client:group_lock("x", {"1"}), read = sides.read, write = sides.write,
        multi = redlatch.multi_lock {lock}, redlock = redlatch.redlock({lock}, {allow_few = true}),
    }
    for kind, each in pairs(kinds) do
        same(each:kind(), kind, "the kind")
    end
end

-- The ends of the ranges, and the words for "without a limit", wherever they may be given.
function scenes.values_at_the_ends(url, name)
    local client = assert(redlatch.connect(url, {database = 0}))
    same(client:url():match("/(%d+)$"), "0")
    same(select(3, redlatch.connect(url, {database = 1000000})), "server")
    raises("database is -1; expected a whole number, 0 to 1000000", redlatch.connect, url, {database = -1})
    raises("database is 1000001; expected a whole number, 0", redlatch.connect, url, {database = 1000001})
    local endless = {timeout = -1, lease = -1, max_hold = -1}
    local member = client:lock(name, endless)
    local makers = {
        function(options) return client:lock(name, options) end,
        function(options) return redlatch.multi_lock({member}, options) end,
        function(options)
            options.allow_few = true
            return redlatch.redlock({member}, options)
        end,
    }
    for _, of in ipairs(makers) do
        local held = assert(of(endless):acquire_hold())
        stage.between(20, held:remaining(), 30, "a renewed lease")
        same(held:release(), true)
        held = assert(of({lease = 5, timeout = 0}):acquire_hold())
        stage.between(2, held:remaining(), 5, "a lease of its own")
        same(held:release(), true)
        raises("timeout is -2; expected -1 to wait for ever", of, {timeout = -2})
        raises("lease is -2; expected -1 for a lease that is renewed", of, {lease = -2})
        raises("max_hold is -2; expected -1 for no limit", of, {max_hold = -2})
    end
end

-- What the collector does not know the size of, or has to finalise, piles up by megabytes between two of its cycles.
function scenes.records_are_plain_garbage(url)
    local client = assert(redlatch.connect(url))
    local size = assert(client:stats()) and core.OK
    local records = {}
    collectgarbage("collect")
    collectgarbage("stop")
    local before = collectgarbage("count")
    for number = 1, 100 do
        local status, record = core.client_stats(client._handle)
        size, records[number] = assert(status == core.OK) and record.struct_size, record
    end
    check((collectgarbage("count") - before) * 1024 >= 100 * size, "a record's size is known")
    same(getmetatable(records[1]).__gc, nil, "a finaliser")
    collectgarbage("restart")
end

function scenes.no_server()
    fails("unreachable", redlatch.connect("redis://127.0.0.1:1"))
    local client = assert(redlatch.connect("redis://127.0.0.1:1", {lazy = true, unreachable_timeout = 0.2}))
    fails("unreachable", client:lock("x"):acquire())
    fails("unreachable", client:lock("x"):state())
    local tag = assert(client:lock("x", {timeout = 0.1}):start_acquire())
    same(type(tag), "number")
end

function scenes.several_names_are_held_together_or_not_at_all(url, name)
    local client, other = assert(redlatch.connect(url)), assert(redlatch.connect(url))
    local names = {name .. ":a", name .. ":b", name .. ":c"}
    local function all(of)
        return redlatch.multi_lock({of:lock(names[1]), of:lock(names[2]), of:lock(names[3])}, {timeout = 5})
    end
    local lock = all(client)
    same(lock:with(function()
        for _, each in ipairs(names) do
            fails("timeout", other:lock(each):try_acquire())
        end
        fails("timeout", all(other):try_acquire())
    end), true)
    same(lock:with(function(held) -- what a release() has refused, the end of the block does
        raises("confirm is 0, a number; expected true or false", held.release, held, {confirm = 0})
        fails("unsupported", held:release({confirm = false}))
    end), true)
    same(other:lock(names[3]):try_acquire(), true)
    fails("timeout", lock:try_acquire())
    same(other:lock(names[1]):try_acquire(), true)
    raises("expected a redlatch.Lock", function() redlatch.multi_lock({lock, names[1]}) end)
    raises("there are no members; expected a list of redlatch.Lock, at least one", redlatch.multi_lock, {})
    raises("members are nil, a nil; expected a list of redlatch.Lock", redlatch.multi_lock)
    raises("member 2 is nil; expected a list of redlatch.Lock without holes", function()
        redlatch.multi_lock({lock, nil, client:lock(names[1])})
    end)
    raises("member 2 is nil", function() redlatch.multi_lock({lock, [3] = client:lock(names[1])}) end)
    raises("twice", function() redlatch.multi_lock({client:lock(name), client:lock(name)}) end)
    raises("at least 3", function() redlatch.redlock({client:lock(name)}) end)
    local few = redlatch.redlock({client:lock(name)}, {allow_few = true})
    same(few:acquire(), true)
    same(few:release(), true)
end

function scenes.values_of_a_group(url, name)
    local client = assert(redlatch.connect(url))
    for _, values in ipairs {{"a", nil, "b"}, {"a", [3] = "b"}, {[2] = "b"}, {[1.5] = "a"}} do
        raises("is nil; expected a list of strings without holes", client.group_lock, client, name, values)
    end
    raises("values are nil, a nil; expected a list of strings", client.group_lock, client, name)
    raises("values are 5, a number; expected a list of strings", client.group_lock, client, name, 5)
    raises("there are no values; expected a list of strings, at least one", client.group_lock, client, name, {})
    raises("value 2 is 7, a number; expected a string", client.group_lock, client, name, {"a", 7})
    local lock = client:group_lock(name, {"a", "b", n = 2})
    assert(lock:acquire())
    fails("timeout", client:group_lock(name, {"b"}):try_acquire())
    assert(lock:release())
end

stage.play(scenes)
