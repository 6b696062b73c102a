-- acquire_many: the owners hold all of the locks named, each with the levels stated; or none that they did not hold.
-- Effects on each name as the acquire of its kind (wire format 2.1, 2.5, 2.6, 2.7, 2.9), with one lease for all.
-- Begins with shared/allowed.lua.
-- KEYS for each line: name; of form f its counter of tokens, of r the timeout key of its last level, too
-- ARGV[1] lease in ms; 0 only looks   ARGV[2] the form of each line, a letter; a capital one raises what is held
-- then for each line: owner; of a capital form its levels; of form f whether tokens begin at the server's time (1), of
-- r and w the base of timeout keys, of r also the field of the owner's own write lock, else empty, of g the number of
-- values, and each value, hashed
-- Forms: m a hash with one owner at a time (mutex and spin alike), f the same with a fencing token, p a string (plain),
-- r and w the sides of a read-write lock, whose owner is w's field of the writer, g values of a group.
-- Returns {0, the tokens of the lines that have one}; or {the first line that is in the way, its remaining ms}: -1 when
-- the lock has no lease, -3 when a line that raises finds nothing to raise, at most 100 of a plain lock of others.
-- May be sent twice: a repeat finds what is its own, states levels and draws no token; no lease is ever shortened.
-- Every name is looked at before anything is written, so a key of another type or shape, which is an error, or a held
-- one leaves all as they were; then the counters, where a token drawn in vain is skipped.
-- SPDX-License-Identifier: Apache-2.0
local call = redis.call
local lease, letters = ARGV[1], ARGV[2]

-- The usual case, in one look: nothing but free names of form m. Numbers would have to be made into text.
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
-- Goes on with shared/read_write.lua.
-- Goes on with shared/readers.lua.
local FREE, GONE = -2, -3
local least = tonumber(lease)

local function prolong(name, ttl)
    if ttl < least then
        call('pexpire', name, lease)
    end
end

-- How each form looks at a line: nil when it is free or its owner's, else for how long it is in the way, or an error.
-- How it takes the line then.

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

-- A hash that is no read-write lock is refused as a key of another type is.
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

-- What is held of a read lock is over with the last of its timeout keys.
local function check_read(entry)
    local wrong = check_mode(entry)
    if wrong then
        return wrong
    elseif not entry.count_stated then
        local held = entry.mode == 'write' and entry.count == 0 and call('hexists', entry.name, ARGV[entry.at + 1]) == 0
        call('get', entry.second) -- an error when it is something else
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
        if not call('set', timeout, '1', 'px', lease, 'nx') then -- of a hash that was deleted it is set anew
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

-- Values that others hold are in the way until the last of them is over; what is raised has to be held whole.
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

-- The error reply for a user who may not write all of a line; else nil.
local function misses_permission(entry)
    local denied = missing_permission(entry.name, unpack(entry.member_type.writes))
    if entry.member_type.token then
        denied = denied or missing_permission(entry.second, 'incr', 'persist', 'set')
    end
    return denied or entry.member_type.timeouts and missing_permission(entry.timeout .. 1, 'set', 'pexpire')
end

-- How a form looks and takes; how many keys, and arguments behind the levels, it has. A further form is a row here.
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
