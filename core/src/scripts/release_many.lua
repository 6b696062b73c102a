-- release_many: lowers each owner's hold count of its lock to the levels left. With 0 left, releases it, and notifies
-- waiters if it becomes free, or if a writer who also reads downgrades it.
-- Effects, message and channel on each name as the release of its kind (wire format 2.1, 2.5, 2.6, 2.9).
-- Begins with shared/allowed.lua.
-- KEYS for each entry: name; of type r also the timeout key of the first level that is released
-- ARGV[1] a letter for each entry, its member type; a capital one leaves levels
-- then for each entry: owner; of a capital letter the levels left; channel; of r and w the base of timeout keys; of g
-- the number of values, and each value, hashed
-- Member types: m and f a hash with one holder at a time (mutex, fenced and spin), p a string (plain), r and w the
-- modes of a read-write lock, where w's owner is the field of the writer, g values of a group.
-- Returns for each entry 0 if the owner holds nothing there, else 1 plus the number of receivers. If types are m and f
-- only and all results are equal, returns one number.
-- May be sent twice: a repeat finds nothing of its own, or the count it left. No lease is shortened, except that of a
-- read-write lock, which ends with the remaining readers.
-- All members are released before the first message, so a refused message leaves nothing held. A full release begins
-- with a command that a server that is out of memory still executes. A key of another type counts as not held.
-- SPDX-License-Identifier: Apache-2.0
local letters = ARGV[1]
local try = redis.pcall
local found, refused = {}, nil

-- Returns the reply of a command, or false if it is an error. A key of another type is ignored. The first of all other
-- errors is the reply of the script, at its end.
local function checked(answer)
    if type(answer) == 'table' and answer.err then
        if not string.find(answer.err, 'WRONGTYPE') then
            refused = refused or answer
        end
        return false
    end
    return answer
end

-- The usual case: full releases of types m and f only.
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

-- Goes on with shared/levels.lua.
-- Goes on with shared/leave_read.lua.
-- Goes on with shared/leave_write.lua.
-- Goes on with shared/leave_values.lua.
local call = redis.call -- an error ends the release of its entry

-- Each member type has a function that releases an entry. It returns whether the owner held something, and the message
-- for waiters, or nil.

local function leave_hash(entry)
    if entry.left then
        return lower(entry.name, entry.owner, entry.left)
    elseif call('hdel', entry.name, entry.owner) == 0 then
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

local function leave_reader(entry)
    local count, left = tonumber(call('hget', entry.name, entry.owner) or nil), tonumber(entry.left or 0)
    if not count or left >= count then
        return count
    end
    return true, leave_read(entry.name, ARGV[entry.at], entry.owner, count, left) and '0' or nil
end

local function leave_writer(entry)
    if entry.left then
        return lower(entry.name, entry.owner, entry.left)
    end
    local held = leave_write(entry.name, ARGV[entry.at], entry.owner)
    return held, held and '1' or nil
end

local function leave_group(entry)
    local held, freed = leave_values(entry.name, entry.owner, entry.left or '0', entry.at + 1,
        entry.at + ARGV[entry.at])
    return held, freed and '0' or nil
end

-- The function of each member type, and its numbers of keys and of arguments after the channel. A new member type needs
-- a row here.
local member_types = {
    m = {leave = leave_hash, arguments = 0, writes = {'hdel', 'hset'}},
    f = {leave = leave_hash, arguments = 0, writes = {'hdel', 'hset'}},
    p = {leave = leave_plain, arguments = 0, writes = {'del'}},
    r = {leave = leave_reader, keys = 2, arguments = 1, timeouts = true, writes = {'hdel', 'hset', 'del', 'pexpire'}},
    w = {leave = leave_writer, arguments = 1, writes = {'hdel', 'hset', 'del', 'pexpire'}},
    g = {leave = leave_group, arguments = 1, counted = true, writes = {'hdel', 'hset'}},
}

local entries = {}
local key, at = 1, 2
for i = 1, #letters do
    local letter = string.sub(letters, i, i)
    local member_type = member_types[string.lower(letter)]
    local lowers = letter ~= string.lower(letter)
    local channel = at + (lowers and 2 or 1)
    local entry = {member_type = member_type, name = KEYS[key], owner = ARGV[at], left = lowers and ARGV[at + 1] or nil,
        channel = ARGV[channel], at = channel + 1}
    entries[i] = entry
    key = key + (member_type.keys or 1)
    at = entry.at + member_type.arguments + (member_type.counted and ARGV[entry.at] or 0)
    local denied = missing_permission(entry.name, unpack(member_type.writes)) or
        member_type.timeouts and missing_permission(timeout_of(ARGV[entry.at], entry.owner, 1), 'set', 'del')
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
