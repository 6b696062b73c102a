-- acquire_many: the owners hold all of the locks named, each with the levels stated; or none that they did not hold.
-- Effects on each name as the acquire of its kind (wire format 2.1, 2.5, 2.6, 2.7, 2.9), with one lease for all.
-- Begins with shared/one_holder.lua.
-- Begins with shared/tokens.lua.
-- Begins with shared/group.lua.
-- Begins with shared/sides.lua.
-- Begins with shared/allowed.lua.
-- KEYS for each line: name; of form f its counter of tokens, too
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
    local lacking = lacks(KEYS[1], 'pexpire')
    if lacking then
        return lacking
    end
    for i = 1, #KEYS do
        call('hset', KEYS[i], ARGV[i + 2], '1')
        call('pexpire', KEYS[i], lease)
    end
    return {0}
end

local FREE, GONE = -2, -3
local least = tonumber(lease)
local clock

-- The server's time in ms, the same for all lines.
local function now()
    if not clock then
        local time = call('time')
        clock = time[1] * 1000 + math.floor(time[2] / 1000)
    end
    return clock
end

local function prolong(name, ttl)
    if ttl < least then
        call('pexpire', name, lease)
    end
end

-- How each form looks at a line: nil when it is free or its owner's, else for how long it is in the way, or an error.
-- How it takes the line then.

local function look_hash(line)
    line.ttl = call('pttl', line.name)
    local holder = line.ttl ~= FREE and holder_of(line.name, line.owner)
    if holder == line.owner then
        return nil
    elseif line.levels then
        return GONE
    elseif line.ttl == FREE then
        return nil
    end
    return holder and line.ttl or refuse_hash()
end

local function look_fenced(line)
    local why = look_hash(line)
    local issued = not why and call('get', line.counter)
    if issued and not is_token(issued) then
        return refuse_counter()
    end
    return why
end

local function take_hash(line)
    if line.ttl == FREE then
        call('hset', line.name, line.owner, '1')
    elseif line.levels and (tonumber(call('hget', line.name, line.owner)) or 0) < tonumber(line.levels) then
        call('hset', line.name, line.owner, line.levels)
    end
    prolong(line.name, line.ttl)
end

local function look_plain(line)
    local holder = call('get', line.name)
    line.ttl = call('pttl', line.name)
    if not holder or holder == line.owner then
        return nil
    end
    local tells = string.find(holder, '^%x+%-%x+%-8%x+%-%x+%-%x+:%d+$')
    return (tells or (line.ttl >= 0 and line.ttl < 100)) and line.ttl or 100
end

local function take_plain(line)
    if line.ttl == FREE then
        call('set', line.name, line.owner, 'px', lease)
    else
        prolong(line.name, line.ttl)
    end
end

-- A hash that is no read-write lock is refused as a key of another type is.
local function look_side(line)
    line.mode = call('hget', line.name, 'mode')
    line.ttl = call('pttl', line.name)
    if line.mode ~= 'read' and line.mode ~= 'write' and line.ttl ~= FREE then
        return refuse_sides()
    end
    local count = line.mode and call('hget', line.name, line.owner)
    if line.mode and not count and not is_read_write(line.name) then
        return refuse_sides()
    end
    line.count = tonumber(count or 0) or 0
    line.timeout = ARGV[line.at] .. ':' .. line.owner .. ':rwlock_timeout:'
    return nil
end

-- What is held of a read lock is over with the last of its timeout keys.
local function look_read(line)
    local wrong = look_side(line)
    if wrong then
        return wrong
    elseif not line.levels then
        local held = line.mode == 'write' and line.count == 0 and call('hexists', line.name, ARGV[line.at + 1]) == 0
        call('get', line.timeout .. 1) -- an error when it is something else
        return held and line.ttl or nil
    end
    local alive = false
    for level = 1, math.min(line.count, 1000) do
        alive = alive or call('pttl', line.timeout .. level) ~= FREE
    end
    return not alive and GONE or nil
end

local function take_read(line)
    local wanted = tonumber(line.levels or 1)
    if line.count < wanted then
        call('hset', line.name, line.owner, line.levels or '1')
    end
    if not line.mode then
        call('hset', line.name, 'mode', 'read')
    end
    local first = line.levels and math.min(line.count + 1, wanted, 1000) or 1
    for level = first, math.min(wanted, 1000) do
        local timeout = line.timeout .. level
        if not call('set', timeout, '1', 'px', lease, 'nx') then -- of a hash that was deleted it is set anew
            prolong(timeout, level > line.count and 0 or call('pttl', timeout))
        end
    end
    prolong(line.name, line.ttl)
end

local function look_write(line)
    local wrong = look_side(line)
    if wrong or line.count > 0 then
        return wrong
    end
    return line.levels and GONE or line.mode and line.ttl or nil
end

local function take_write(line)
    if not line.mode then
        call('hset', line.name, 'mode', 'write', line.owner, '1')
    elseif line.levels and line.count < tonumber(line.levels) then
        call('hset', line.name, line.owner, line.levels)
    end
    prolong(line.name, line.ttl)
end

-- Values that others hold are in the way until the last of them is over; what is raised has to be held whole.
local function look_group(line)
    line.ttl = call('pttl', line.name)
    line.others = {}
    local last, known = now(), line.ttl == FREE
    for i = line.at + 1, line.at + ARGV[line.at] do
        local holder, ends = owner_of(line.name, ARGV[i])
        if line.levels and (holder ~= line.owner or ends <= now()) then
            return GONE
        elseif holder == false then
            return refuse_group()
        elseif holder and holder ~= line.owner then
            last = math.max(last, ends)
            line.others[i] = holder
        end
        known = known or holder
    end
    if not known and is_foreign(line.name) then
        return refuse_group()
    end
    return last > now() and last - now() or nil
end

local function take_group(line)
    for i = line.at + 1, line.at + ARGV[line.at] do
        local own = ARGV[i] .. ':' .. line.owner
        local ends = tonumber(call('hget', line.name, own .. ':expire_time')) or 0
        local count = ends > now() and tonumber(call('hget', line.name, own .. ':lock_count')) or 0
        call('hset', line.name, ARGV[i], line.owner)
        if ends < now() + least then
            call('hset', line.name, own .. ':expire_time', string.format('%.0f', now() + least))
        end
        if count < tonumber(line.levels or 1) then
            call('hset', line.name, own .. ':lock_count', line.levels or '1')
        end
        if line.others[i] then
            local left = ARGV[i] .. ':' .. line.others[i]
            call('hdel', line.name, left .. ':expire_time', left .. ':lock_count')
        end
    end
    if line.ttl ~= -1 then
        prolong(line.name, line.ttl)
    end
end

-- The error reply for a user who may not write all of a line; else nil.
local function lacks_some(line)
    local lacking = lacks(line.name, unpack(line.form.writes))
    if line.form.token then
        lacking = lacking or lacks(line.counter, 'incr', 'persist', 'set')
    end
    return lacking or line.form.timeouts and lacks(line.timeout .. 1, 'set', 'pexpire')
end

-- The token of a hold: the counter as it is for one that is held already, else a new number.
local function draw_token(counter, held, from_time)
    if not (call('get', counter) and held) then
        call('incr', counter)
        call('persist', counter)
        if from_time == '1' then
            local time = call('time')
            local floor = time[1] .. string.format('%06d', time[2])
            if tonumber(call('get', counter)) < tonumber(floor) then
                call('set', counter, floor)
            end
        end
    end
    return call('get', counter)
end

-- How a form looks and takes; how many keys, and arguments behind the levels, it has. A further form is a row here.
local forms = {
    m = {look = look_hash, take = take_hash, keys = 1, arguments = 0, writes = {'hset', 'pexpire'}},
    f = {look = look_fenced, take = take_hash, keys = 2, arguments = 1, token = true, writes = {'hset', 'pexpire'}},
    p = {look = look_plain, take = take_plain, keys = 1, arguments = 0, writes = {'set', 'pexpire'}},
    r = {look = look_read, take = take_read, keys = 1, arguments = 2, writes = {'hset', 'pexpire'}, timeouts = true},
    w = {look = look_write, take = take_write, keys = 1, arguments = 1, writes = {'hset', 'pexpire'}},
    g = {look = look_group, take = take_group, keys = 1, arguments = 1, counted = true,
        writes = {'hset', 'hdel', 'pexpire'}},
}

local lines = {}
local key, at = 1, 3
for i = 1, #letters do
    local letter = string.sub(letters, i, i)
    local form = forms[string.lower(letter)]
    local raises = letter ~= string.lower(letter)
    local line = {form = form, name = KEYS[key], counter = KEYS[key + 1], owner = ARGV[at],
        levels = raises and ARGV[at + 1] or nil, at = at + (raises and 2 or 1)}
    local why = form.look(line)
    if type(why) == 'table' then
        return why
    elseif why then
        return {i, why}
    end
    lines[i] = line
    key = key + form.keys
    at = line.at + form.arguments + (form.counted and ARGV[line.at] or 0)
end
local answer = {0}
if lease == '0' then
    return answer
end
for _, line in ipairs(lines) do
    local lacking = lacks_some(line)
    if lacking then
        return lacking
    end
end
for _, line in ipairs(lines) do
    if line.form.token then
        answer[#answer + 1] = draw_token(line.counter, line.ttl ~= FREE, ARGV[line.at])
    end
end
for _, line in ipairs(lines) do
    line.form.take(line)
end
return answer
