-- release_many: each owner is left with the given number of levels of its lock; where that is none, it holds it no
-- more, and waiters are told if that leaves it free, or the readers among them a side of it.
-- Effects, message and channel on each name as the release of its kind (wire format 2.1, 2.5, 2.6, 2.9).
-- Begins with shared/allowed.lua.
-- KEYS names   ARGV[1] the form of each line, a letter; a capital one leaves levels
-- then for each line: owner; of a capital form the levels left; channel; of r and w the base of timeout keys; of g the
-- number of values, and each value, hashed
-- Forms: m and f a hash with one owner at a time (mutex, fenced and spin alike), p a string (plain), r and w the sides
-- of a read-write lock, whose owner is w's field of the writer, g values of a group.
-- Returns for each name 0 when the owner holds nothing there; else 1, plus the number of subscribers told. One number
-- is that of each.
-- May be sent twice: a repeat finds nothing of its own, or the count it left. A lease is never shortened, but for that
-- of a read-write lock to the leases of the readers who go on.
-- All go before anybody is told, so a refused message leaves nothing held; a full release begins with a command that a
-- server which is out of memory still carries out. A key of another type counts as not held.
-- SPDX-License-Identifier: Apache-2.0
local letters = ARGV[1]
local try = redis.pcall
local found, refused = {}, nil

-- The answer of a command on a key that may be of another type by now; any other error is the script's, at its end.
local function checked(answer)
    if type(answer) == 'table' and answer.err then
        if not string.find(answer.err, 'WRONGTYPE', 1, true) then
            refused = refused or answer
        end
        return false
    end
    return answer
end

-- The usual case: nothing but last levels of forms m and f.
if not string.find(letters, '[^fm]') then
    for i = 1, #KEYS do
        found[i] = checked(try('hdel', KEYS[i], ARGV[2 * i])) or 0
    end
    local alike = true
    for i = 1, #KEYS do
        if found[i] == 1 then
            found[i] = 1 + (checked(try('publish', ARGV[2 * i + 1], '0')) or 0)
        end
        alike = alike and found[i] == found[1]
    end
    return refused or alike and found[1] or found
end

-- Whatever is refused within a form ends it there.
local function call(...)
    local answer = try(...)
    if type(answer) == 'table' and answer.err then
        error(answer)
    end
    return answer
end

-- How a form leaves a line: whether there was something of its owner's, and the message for those who wait, if any.

local function lower_hash(entry)
    local count_stated = call('hget', entry.name, entry.owner)
    if count_stated and (tonumber(count_stated) or 0) > tonumber(entry.left) then
        call('hset', entry.name, entry.owner, entry.left)
    end
    return count_stated, nil
end

local function leave_hash(entry)
    if entry.left then
        return lower_hash(entry)
    end
    if call('hdel', entry.name, entry.owner) == 0 then
        return false
    end
    return true, '0'
end

local function leave_plain(entry)
    if call('get', entry.name) ~= entry.owner then
        return false
    end
    call('del', entry.name)
    return true, '0'
end

local function timeout_of(entry, owner, nth)
    return ARGV[entry.at] .. ':' .. owner .. ':rwlock_timeout:' .. nth
end

-- The longest remaining ms of a reader's levels, from one on; -2 if none has a timeout key.
local function longest_of(entry, owner, from, count)
    local longest = -2
    for nth = from, math.min(tonumber(count) or 0, 1000) do
        longest = math.max(longest, call('pttl', timeout_of(entry, owner, nth)))
    end
    return longest
end

-- The same of all who are in the lock, and those of them who are dead.
local function check_readers(entry)
    local longest, dead = -2, {}
    local fields = call('hgetall', entry.name)
    for i = 1, #fields, 2 do
        local best = longest_of(entry, fields[i], 1, fields[i + 1])
        longest = math.max(longest, best)
        if best == -2 and fields[i] ~= 'mode' then
            dead[#dead + 1] = fields[i]
        end
    end
    return longest, dead
end

-- As release_read does it, where the reasons stand.
local function leave_read(entry)
    local count = tonumber(call('hget', entry.name, entry.owner) or nil)
    local left = tonumber(entry.left or 0)
    if not count or left >= count then
        return count
    end
    local mine = longest_of(entry, entry.owner, left + 1, count)
    if left > 0 then
        call('hset', entry.name, entry.owner, entry.left)
        if mine > call('pttl', timeout_of(entry, entry.owner, left)) and mine > 0 then
            call('set', timeout_of(entry, entry.owner, left), '1', 'px', mine)
        end
    else
        call('hdel', entry.name, entry.owner)
    end
    for nth = left + 1, math.min(count, 1000) do
        call('del', timeout_of(entry, entry.owner, nth))
    end
    local ttl = call('pttl', entry.name)
    local alone = call('hlen', entry.name) == 1
    if left > 0 or call('hget', entry.name, 'mode') == 'write' or (ttl > mine + 1000 and not alone) then
        return true
    end
    local longest, dead = check_readers(entry)
    if longest == -2 then
        call('del', entry.name)
        return true, '0'
    end
    for _, field in ipairs(dead) do
        call('hdel', entry.name, field)
    end
    if longest >= 0 and longest < ttl then
        call('pexpire', entry.name, math.max(longest, 1))
    end
    return true
end

-- As release_write does it.
local function leave_write(entry)
    if entry.left then
        return lower_hash(entry)
    end
    if call('hdel', entry.name, entry.owner) == 0 then
        return false
    end
    local longest = check_readers(entry)
    if longest == -2 then
        call('del', entry.name)
    else
        call('hset', entry.name, 'mode', 'read')
        if longest >= 0 then
            call('pexpire', entry.name, math.max(longest, 1))
        end
    end
    return true, '1'
end

-- As release_group does it.
local function leave_group(entry)
    local time = call('time')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local first, last = entry.at + 1, entry.at + ARGV[entry.at]
    local whole, removed = true, 0
    for i = first, last do
        local ends = call('hget', entry.name, ARGV[i] .. ':' .. entry.owner .. ':expire_time')
        local mine = call('hget', entry.name, ARGV[i]) == entry.owner
        whole = whole and mine and (tonumber(ends) or 0) > now
    end
    for i = first, last do
        local own = ARGV[i] .. ':' .. entry.owner
        if not entry.left then
            if call('hget', entry.name, ARGV[i]) == entry.owner then
                removed = removed + call('hdel', entry.name, ARGV[i])
            end
            call('hdel', entry.name, own .. ':expire_time', own .. ':lock_count')
        elseif whole and tonumber(call('hget', entry.name, own .. ':lock_count') or 0) > tonumber(entry.left) then
            call('hset', entry.name, own .. ':lock_count', entry.left)
        end
    end
    return whole, removed > 0 and '0' or nil
end

-- How a form leaves a line; how many arguments behind the channel it has. A further form is a row here.
local member_types = {
    m = {leave = leave_hash, arguments = 0, writes = {'hdel', 'hset'}},
    f = {leave = leave_hash, arguments = 0, writes = {'hdel', 'hset'}},
    p = {leave = leave_plain, arguments = 0, writes = {'del'}},
    r = {leave = leave_read, arguments = 1, timeouts = true, writes = {'hdel', 'hset', 'del', 'pexpire'}},
    w = {leave = leave_write, arguments = 1, writes = {'hdel', 'hset', 'del', 'pexpire'}},
    g = {leave = leave_group, arguments = 1, counted = true, writes = {'hdel', 'hset'}},
}

local entries = {}
local at = 2
for i = 1, #letters do
    local letter = string.sub(letters, i, i)
    local member_type = member_types[string.lower(letter)]
    local lowers = letter ~= string.lower(letter)
    local channel = at + (lowers and 2 or 1)
    local entry = {member_type = member_type, name = KEYS[i], owner = ARGV[at], left = lowers and ARGV[at + 1] or nil,
        channel = ARGV[channel], at = channel + 1}
    entries[i] = entry
    at = entry.at + member_type.arguments + (member_type.counted and ARGV[entry.at] or 0)
    local denied = missing_permission(entry.name, unpack(member_type.writes)) or
        member_type.timeouts and missing_permission(timeout_of(entry, entry.owner, 1), 'set', 'del')
    if denied then
        return denied
    end
end
for i, entry in ipairs(entries) do
    local whole, had, message = pcall(entry.member_type.leave, entry)
    if not whole then
        checked(type(had) == 'table' and had or redis.error_reply(tostring(had)))
        had, message = false, nil
    end
    found[i] = had and 1 or 0
    entry.message = message
end
for i, entry in ipairs(entries) do
    local receivers = entry.message and checked(try('publish', entry.channel, entry.message)) or 0
    if found[i] == 1 then
        found[i] = 1 + receivers
    end
end
return refused or found
