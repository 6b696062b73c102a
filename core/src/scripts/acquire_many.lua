-- acquire_many: the owners hold all of the locks named, each with the levels stated; or none that they did not hold.
-- Effects on each name as the acquire of its kind (wire format 2.1, 2.7), with one lease for all.
-- KEYS for each line: name; of form f its counter of tokens, too
-- ARGV[1] lease in ms; for each line: form, owner, levels; of form f whether tokens begin at the server's time (1)
-- Forms: m a hash with one owner at a time (mutex, fair and spin alike), f the same with a fencing token.
-- Returns {0, the tokens of the lines that have one}; or {the first line that is in the way, its remaining ms}: -1 when
-- the lock has no lease, -3 when a line of more than one level finds no hold to raise.
-- May be sent twice: a repeat finds the own fields, states levels and draws no token; no lease is ever shortened.
-- Every name is looked at before anything is written, so a key of another type or a held one leaves all as they were;
-- then the counters, which may be refused; a token drawn in vain is skipped.
-- SPDX-License-Identifier: Apache-2.0
local call = redis.call
local lease = ARGV[1]
local least = tonumber(lease)

-- A line as it stands: the remaining ms of its name, -2 when that is free. nil, and why, when it is in the way.
local function look_hash(name, owner, levels)
    local ttl = call('pttl', name)
    if ttl == -2 then
        if levels ~= '1' then
            return nil, -3
        end
        return ttl
    end
    if call('hexists', name, owner) == 1 then
        return ttl
    end
    return nil, levels == '1' and ttl or -3
end

local function take_hash(name, owner, levels, ttl)
    if ttl == -2 then
        call('hset', name, owner, levels)
        call('pexpire', name, lease)
        return
    end
    if levels ~= '1' and tonumber(call('hget', name, owner)) < tonumber(levels) then
        call('hset', name, owner, levels)
    end
    if ttl < least then
        call('pexpire', name, lease)
    end
end

-- The token of a hold: the counter as it is for one that is held already, else a new number.
local function draw_token(counter, held, from_time)
    if not (call('get', counter) and held) then
        call('incr', counter)
        call('persist', counter)
        if from_time == '1' then
            local now = call('time')
            local floor = now[1] .. string.format('%06d', now[2])
            if tonumber(call('get', counter)) < tonumber(floor) then
                call('set', counter, floor)
            end
        end
    end
    return call('get', counter)
end

-- How a form looks at its line and takes it; how many keys and arguments it has. A further form is a row here.
local forms = {
    m = {look = look_hash, take = take_hash, keys = 1, arguments = 3},
    f = {look = look_hash, take = take_hash, keys = 2, arguments = 4, token = true},
}

-- The usual case, in one look: nothing but free names of form m, each for one level.
local function all_are_free()
    for i = 1, #KEYS do
        if ARGV[3 * i - 1] ~= 'm' or ARGV[3 * i + 1] ~= '1' then
            return false
        end
    end
    return #ARGV == 3 * #KEYS + 1 and call('exists', unpack(KEYS)) == 0
end

if all_are_free() then
    for i = 1, #KEYS do
        call('hset', KEYS[i], ARGV[3 * i], 1)
        call('pexpire', KEYS[i], lease)
    end
    return {0}
end
local lines, count = {}, 0
local key, argument = 1, 2
while argument <= #ARGV do
    local form = forms[ARGV[argument]]
    local line = {form = form, name = KEYS[key], owner = ARGV[argument + 1], levels = ARGV[argument + 2],
        counter = KEYS[key + 1], from_time = ARGV[argument + 3]}
    count = count + 1
    local ttl, why = form.look(line.name, line.owner, line.levels)
    if not ttl then
        return {count, why}
    end
    line.ttl = ttl
    lines[count] = line
    key = key + form.keys
    argument = argument + form.arguments
end
local answer = {0}
for i = 1, count do
    local line = lines[i]
    if line.form.token then
        answer[#answer + 1] = draw_token(line.counter, line.ttl ~= -2, line.from_time)
    end
end
for i = 1, count do
    local line = lines[i]
    line.form.take(line.name, line.owner, line.levels, line.ttl)
end
return answer
