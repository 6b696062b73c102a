-- acquire_many: acquires all the named locks for their owners, each with the stated hold count, or acquires nothing.
-- Effects on each name as the acquire of its kind (wire format 2.1, 2.5, 2.6, 2.7, 2.9), with one lease for all.
-- Begins with shared/allowed.lua.
-- KEYS for each entry: name; of type f also the counter of tokens; of type r also the timeout key of its last level
-- ARGV[1] lease in ms; 0 only asks   ARGV[2] a letter for each entry, its member type; a capital one raises a hold
-- then for each entry: owner; of a capital letter the hold count; of type f 1 if tokens begin at the server's time; of
-- r and w the base of timeout keys; of r also the field of the owner's own write lock, or empty; of g the number of
-- values, and each value, hashed
-- Member types: m a hash with one holder at a time (mutex and spin), f the same with a fencing token, p a string
-- (plain), r and w the modes of a read-write lock, where w's owner is the field of the writer, g values of a group.
-- Returns {0, the tokens of the entries that have one}. Or returns {index of the first entry that cannot be acquired,
-- its remaining ms}: -1 if the lock has no TTL, -3 if an entry that raises a hold finds none, at most 100 for a plain
-- lock held by another library.
-- May be sent twice: a repeat finds its own holds, states counts and draws no token. No lease is ever shortened.
-- All names are checked before the first write. So if one lock is held by another owner, or one key has another type or
-- shape, which is an error, all keys stay unchanged. Counters are written first: a token that then is not used is lost.
-- SPDX-License-Identifier: Apache-2.0
local call = redis.call
local lease, letters = ARGV[1], ARGV[2]

-- The usual case, checked with one command: all names are free and of type m. Arguments are texts, because the server
-- would have to convert numbers.
if lease ~= '0' and not string.find(letters, '[^m]') and call('exists', unpack(KEYS)) == 0 then
    local denied = missing_permission(KEYS[1], 'pexpire')
    if denied then
        return denied
    end
    for i = 1, #KEYS do
        call('hset', KEYS[i], ARGV[i + 2], '1')
        call('pexpire', KEYS[i], lease)
    end
    return {0}
end

-- Goes on with shared/one_holder.lua.
-- Goes on with shared/tokens.lua.
-- Goes on with shared/held_values.lua.
-- Goes on with shared/take_values.lua.
-- Goes on with shared/read_write_hash.lua.
-- Goes on with shared/readers.lua.
local FREE, GONE = -2, -3
local least = tonumber(lease)

local function prolong(name, ttl)
    if ttl < least then
        call('pexpire', name, lease)
    end
end

-- Each member type has a function that checks an entry, and one that then acquires it. The check returns nil if the
-- entry is free or held by its owner, else its remaining ms as in the script's reply, or an error reply.

local function check_hash(entry)
    entry.ttl = call('pttl', entry.name)
    local holder = entry.ttl ~= FREE and holder_of(entry.name, entry.owner)
    if holder == entry.owner then
        return nil
    elseif entry.count_stated then
        return GONE
    elseif entry.ttl == FREE then
        return nil
    end
    return holder and entry.ttl or wrong_hash()
end

local function check_fenced(entry)
    local why = check_hash(entry)
    local issued = not why and call('get', entry.second)
    if issued and not is_token(issued) then
        return wrong_counter()
    end
    entry.token = entry.ttl ~= FREE and issued
    return why
end

local function take_hash(entry)
    if entry.ttl == FREE then
        call('hset', entry.name, entry.owner, '1')
    elseif entry.count_stated and
        (tonumber(call('hget', entry.name, entry.owner)) or 0) < tonumber(entry.count_stated) then
        call('hset', entry.name, entry.owner, entry.count_stated)
    end
    prolong(entry.name, entry.ttl)
end

local function check_plain(entry)
    local holder = call('get', entry.name)
    entry.ttl = call('pttl', entry.name)
    if not holder or holder == entry.owner then
        return nil
    end
    local tells = string.find(holder, '^%x+%-%x+%-8%x+%-%x+%-%x+:%d+$')
    return (tells or (entry.ttl >= 0 and entry.ttl < 100)) and entry.ttl or 100
end

local function take_plain(entry)
    if entry.ttl == FREE then
        call('set', entry.name, entry.owner, 'px', lease)
    else
        prolong(entry.name, entry.ttl)
    end
end

-- Reads the mode, the TTL and the owner's count. Returns an error reply for a hash that is no read-write lock, else
-- nil.
local function check_mode(entry)
    entry.mode = call('hget', entry.name, 'mode')
    entry.ttl = call('pttl', entry.name)
    if entry.mode ~= 'read' and entry.mode ~= 'write' and entry.ttl ~= FREE then
        return wrong_read_write()
    end
    local count = entry.mode and call('hget', entry.name, entry.owner)
    if entry.mode and not count and not is_read_write(entry.name) then
        return wrong_read_write()
    end
    entry.count = tonumber(count or 0) or 0
    entry.timeout = ARGV[entry.at] .. ':' .. entry.owner .. ':rwlock_timeout:'
    return nil
end

-- A read hold is over when none of its timeout keys is left.
local function check_read(entry)
    local wrong = check_mode(entry)
    if wrong then
        return wrong
    elseif not entry.count_stated then
        local held = entry.mode == 'write' and entry.count == 0 and call('hexists', entry.name, ARGV[entry.at + 1]) == 0
        call('get', entry.second) -- an error if it is no string
        return held and entry.ttl or nil
    end
    return longest_of(entry.name, ARGV[entry.at], entry.owner, 1, entry.count) == FREE and GONE or nil
end

local function take_read(entry)
    local wanted = tonumber(entry.count_stated or 1)
    if entry.count < wanted then
        call('hset', entry.name, entry.owner, entry.count_stated or '1')
    end
    if not entry.mode then
        call('hset', entry.name, 'mode', 'read')
    end
    local first = entry.count_stated and math.min(entry.count + 1, wanted, 1000) or 1
    for nth = first, math.min(wanted, 1000) do
        local timeout = entry.timeout .. nth
        if not call('set', timeout, '1', 'px', lease, 'nx') then -- one that a deleted hash left gets the lease
            prolong(timeout, nth > entry.count and 0 or call('pttl', timeout))
        end
    end
    prolong(entry.name, entry.ttl)
end

local function check_write(entry)
    local wrong = check_mode(entry)
    if wrong or entry.count > 0 then
        return wrong
    end
    return entry.count_stated and GONE or entry.mode and entry.ttl or nil
end

local function take_write(entry)
    if not entry.mode then
        call('hset', entry.name, 'mode', 'write', entry.owner, '1')
    elseif entry.count_stated and entry.count < tonumber(entry.count_stated) then
        call('hset', entry.name, entry.owner, entry.count_stated)
    end
    prolong(entry.name, entry.ttl)
end

local function last_of(entry)
    return entry.at + ARGV[entry.at]
end

-- The remaining ms are those of the last value held by others. To raise a hold, its owner must hold all values.
local function check_group(entry)
    entry.ttl = call('pttl', entry.name)
    entry.others = {}
    if entry.count_stated then
        return not held_until(call, entry.name, entry.owner, entry.at + 1, last_of(entry)) and GONE or nil
    end
    local why, others = check_values(entry.name, entry.owner, entry.ttl, entry.at + 1, last_of(entry))
    entry.others = others
    return why
end

local function take_group(entry)
    take_values(entry.name, entry.owner, entry.ttl, entry.at + 1, last_of(entry), entry.count_stated or '1', lease,
        entry.others)
end

-- Returns the error reply for a user who may not run all writes of an entry, else nil.
local function misses_permission(entry)
    local denied = missing_permission(entry.name, unpack(entry.member_type.writes))
    if entry.member_type.token then
        denied = denied or missing_permission(entry.second, 'incr', 'persist', 'set')
    end
    return denied or entry.member_type.timeouts and missing_permission(entry.timeout .. 1, 'set', 'pexpire')
end

-- The functions of each member type, and its numbers of keys and of arguments after the hold count. A new member type
-- needs a row here.
local member_types = {
    m = {check = check_hash, take = take_hash, keys = 1, arguments = 0, writes = {'hset', 'pexpire'}},
    f = {check = check_fenced, take = take_hash, keys = 2, arguments = 1, token = true, writes = {'hset', 'pexpire'}},
    p = {check = check_plain, take = take_plain, keys = 1, arguments = 0, writes = {'set', 'pexpire'}},
    r = {check = check_read, take = take_read, keys = 2, arguments = 2, writes = {'hset', 'pexpire'}, timeouts = true},
    w = {check = check_write, take = take_write, keys = 1, arguments = 1, writes = {'hset', 'pexpire'}},
    g = {check = check_group, take = take_group, keys = 1, arguments = 1, counted = true,
        writes = {'hset', 'hdel', 'pexpire'}},
}

local entries = {}
local key, at = 1, 3
for i = 1, #letters do
    local letter = string.sub(letters, i, i)
    local member_type = member_types[string.lower(letter)]
    local raises = letter ~= string.lower(letter)
    local entry = {member_type = member_type, name = KEYS[key], second = KEYS[key + 1], owner = ARGV[at],
        count_stated = raises and ARGV[at + 1] or nil, at = at + (raises and 2 or 1)}
    local why = member_type.check(entry)
    if type(why) == 'table' then
        return why
    elseif why then
        return {i, why}
    end
    entries[i] = entry
    key = key + member_type.keys
    at = entry.at + member_type.arguments + (member_type.counted and ARGV[entry.at] or 0)
end
local answer = {0}
if lease == '0' then
    return answer
end
for _, entry in ipairs(entries) do
    local denied = misses_permission(entry)
    if denied then
        return denied
    end
end
for _, entry in ipairs(entries) do
    if entry.member_type.token then
        answer[#answer + 1] = entry.token or draw_token(entry.second, ARGV[entry.at])
    end
end
for _, entry in ipairs(entries) do
    entry.member_type.take(entry)
end
return answer
