-- inspect: what is known of a name, or of the locks among one page of the server's keys; writes nothing.
-- KEYS[1] name; or no key, and ARGV[1] cursor   ARGV[2] pattern   ARGV[3] how many keys to look at
-- Returns one string: the next cursor ("0": no more), then a record for each name. Each of them, and each part of a
-- record, stands as <size>:<bytes>. A record: name, type, form, remaining ms, token, holders, waiters, number of
-- parties told of; then role, count, owner of each party. Forms and roles are enum redlatch_form and redlatch_role.
-- The forms of Redisson's hashes: wire format 1.5, 2.5, 2.9. Never reads more than about a hundred fields of a hash.
-- SPDX-License-Identifier: Apache-2.0
local NOTHING, MUTEX, FENCED, FAIR, READ_WRITE, GROUP, UNKNOWN = 0, 1, 2, 3, 4, 5, 99
local HOLDER, READER, WRITER, WAITER = 1, 2, 3, 4
local uuid = string.rep('%x', 8) .. string.rep('%-%x%x%x%x', 3) .. '%-' .. string.rep('%x', 12)
local owner_form, write_form = '^' .. uuid .. ':%-?%d+$', '^(' .. uuid .. ':.*):write$'

-- Whether a text is a count that a client can read.
local function is_count(text)
    return #text <= 18 and string.find(text, '^%d+$')
end

local function put(parts, value)
    if type(value) == 'number' then
        value = string.format('%.0f', value)
    end
    parts[#parts + 1] = #value .. ':' .. value
end

local function put_party(parties, role, count, owner)
    put(parties, role)
    put(parties, count)
    put(parties, owner)
    parties.count = parties.count + 1
end

local function read_write(name, parties)
    local fields = redis.call('hscan', name, '0', 'count', 100)[2]
    for i = 1, #fields, 2 do
        local field, count = fields[i], fields[i + 1]
        local writer = string.match(field, write_form)
        if string.find(writer or field, owner_form) and is_count(count) then
            put_party(parties, writer and WRITER or READER, count, writer or field)
        end
    end
    return redis.call('hlen', name) - 1
end

-- Of each value of a group: the value's hash, its owner, and the owner's expire time, which the client's clock set.
local function group(name, parties)
    local fields = redis.call('hscan', name, '0', 'match', '*:lock_count', 'count', 100)[2]
    local now = redis.call('time')
    local found = false
    for i = 1, #fields, 2 do
        local value, owner = string.match(fields[i], '^(' .. string.rep('[%w+/]', 22) .. '):(.+):lock_count$')
        if value then
            found = true
            local ends = redis.call('hget', name, value .. ':' .. owner .. ':expire_time')
            local lives = ends and tonumber(ends) and tonumber(ends) > now[1] * 1000 + now[2] / 1000
            if lives and is_count(fields[i + 1]) and redis.call('hget', name, value) == owner then
                put_party(parties, HOLDER, fields[i + 1], owner)
            end
        end
    end
    return found
end

-- The form of a hash, and how many hold it.
local function hash(name, parties)
    local size = redis.call('hlen', name)
    if size == 1 then
        local field = redis.call('hgetall', name)
        if string.find(field[1], owner_form) and is_count(field[2]) and field[2] ~= '0' then
            put_party(parties, HOLDER, field[2], field[1])
            return MUTEX, 1
        end
        return UNKNOWN, 0
    end
    local mode = redis.call('hget', name, 'mode')
    if mode == 'read' or mode == 'write' then
        local holders = read_write(name, parties)
        if parties.count > 0 then
            return READ_WRITE, holders
        end
    end
    if group(name, parties) then
        return GROUP, parties.count
    end
    return UNKNOWN, 0
end

-- Puts the record of a name; only that of a lock if `locks_only`.
local function describe(records, name, kind, locks_only)
    local parties = {count = 0}
    local form, holders, waiters = NOTHING, 0, 0
    if kind == 'hash' then
        form, holders = hash(name, parties)
    elseif kind ~= 'none' then
        form = UNKNOWN
    end
    if form == UNKNOWN and locks_only then
        return
    end
    local token = '0'
    if form == NOTHING or form == MUTEX then
        local tag = string.find(name, '{', 1, true) and name or '{' .. name .. '}'
        local queued = redis.pcall('lrange', 'redisson_lock_queue:' .. tag, 0, 99)
        local issued = redis.pcall('get', 'redisson_lock_token:' .. tag)
        if #queued > 0 then
            form, waiters = FAIR, redis.call('llen', 'redisson_lock_queue:' .. tag)
        end
        if type(issued) == 'string' and is_count(issued) then
            form, token = FENCED, issued
        end
        for _, owner in ipairs(queued) do
            put_party(parties, WAITER, 0, owner)
        end
    end
    local record = {}
    put(record, name)
    put(record, kind)
    put(record, form)
    put(record, redis.call('pttl', name))
    put(record, token)
    put(record, holders)
    put(record, waiters)
    put(record, parties.count)
    put(records, table.concat(record) .. table.concat(parties))
end

local records = {}
if #KEYS == 1 then
    put(records, '0')
    describe(records, KEYS[1], redis.call('type', KEYS[1]).ok, false)
else
    local page = redis.call('scan', ARGV[1], 'match', ARGV[2], 'count', ARGV[3], 'type', 'hash')
    put(records, page[1])
    for _, name in ipairs(page[2]) do
        describe(records, name, 'hash', true)
    end
end
return table.concat(records)
