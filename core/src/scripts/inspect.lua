-- inspect: what is known of a name, or of the locks among one page of the server's keys; writes nothing.
-- KEYS[1] name   ARGV[1] an owner who is told of first if it holds the name, or none
-- or no key, and ARGV[1] cursor   ARGV[2] pattern   ARGV[3] how many keys to look at
-- Returns one string: the next cursor ("0": no more), then a record for each name. Each of them, and each part of a
-- record, stands as <size>:<bytes>. A record: name, type, form, remaining ms, token, holders, waiters, what a semaphore
-- or latch has left, number of parties told of; then of each party role, count, owner, the value of a group that it
-- holds or "", and the remaining ms of that value or of a permit, -1 without a lease of its own. Forms and roles are
-- enum redlatch_detected_kind and redlatch_role. The forms of Redisson's hashes and numbers:
-- wire format 1.5, 2.5, 2.9 and 2.10 to 2.12.
-- The server does nothing else meanwhile, so what is no lock is told by cheap signs, before anything long is read, and
-- a few hundred fields of a hash are the most that is. Where a page has many large locks or long names, the last of
-- them get a record of the name alone: they are to be asked about one by one.
-- SPDX-License-Identifier: Apache-2.0
local NOTHING, MUTEX, FENCED, FAIR, READ_WRITE, GROUP, PLAIN, COUNT, PERMITS, UNKNOWN =
    0, 1, 2, 3, 4, 5, 6, 7, 8, 99
local HOLDER, READER, WRITER, WAITER = 1, 2, 3, 4
local uuid = string.rep('%x', 8) .. string.rep('%-%x%x%x%x', 3) .. '%-' .. string.rep('%x', 12)
local owner_pattern = '^' .. uuid .. ':%-?%d+[:%x]*$' -- as shared/owner.lua
local write_pattern = '^(' .. uuid .. ':.*):write$'
local value_pattern = '^' .. string.rep('[%w+/]', 22) .. '$'
local value_count_pattern = '^(' .. string.rep('[%w+/]', 22) .. '):(.+):lock_count$'
local value_end_pattern = '^' .. string.rep('[%w+/]', 22) .. ':.+:expire_time$'

-- No lock has a longer name; those of a page are told of, or asked about, in one answer.
local NAME_MAX = 65535

-- No lock has fields of this size on average; of so few fields the server adds up all.
local FIELD_BYTES_MAX, FEW = 4096, 16
-- How many names (of a usual size) and fields one page may look at closely: a millisecond or two. What it has been so
-- far. Of one hash so many fields are told of.
local WORK_MAX, NAME_BYTES, work = 400, 256, 0
local FIELDS_MAX = 100

-- The owner who is asked about; the fields of a hash that are looked through for it at a time.
local sought, SOUGHT_PAGE = #KEYS == 1 and ARGV[1], 1000

-- Whether a text is a count that a client can read.
local COUNT_DIGITS = 18
local function is_count(text)
    return #text <= COUNT_DIGITS and string.find(text, '^%d+$')
end

local function put(parts, value)
    if type(value) == 'number' then
        value = string.format('%.0f', value)
    end
    parts[#parts + 1] = #value .. ':' .. value
end

local function put_party(parties, role, count, owner, value, ttl)
    put(parties, role)
    put(parties, count)
    put(parties, owner)
    put(parties, value or '')
    put(parties, ttl or -1)
    parties.count = parties.count + 1
end

local function now_ms()
    local time = redis.call('time')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- What is left of a lease that others have written; one that ends in thirty years is none.
local ENDLESS_MS = 1000000000000
local function left_of(ends, now)
    local left = tonumber(ends) - now
    return left < ENDLESS_MS and left or -1
end

-- Whether the fields are too long for a lock. Where the server's access rules do not tell, they are not.
local function is_heavy(name, size)
    local bytes = redis.pcall('memory', 'usage', name, 'samples', size > FEW and 5 or 0)
    return type(bytes) == 'number' and bytes - 2 * #name > size * FIELD_BYTES_MAX
end

-- Whether any one field has a form that the fields of a read-write lock or of a group have. Servers older than 6.2 do
-- not tell: there it may be one.
local function seems(patterns, name)
    local field = redis.pcall('hrandfield', name)
    if type(field) ~= 'string' then
        return true
    end
    for _, detected in ipairs(patterns) do
        if string.find(field, detected) then
            return true
        end
    end
    return false
end

-- A part of the fields and their values; of a hash that the server keeps in one piece, some hundreds, all.
local function some_fields(name, ...)
    local fields = redis.call('hscan', name, '0', 'count', FIELDS_MAX, ...)[2]
    work = work + #fields / 2
    return fields
end

-- The fields with those of one owner before all others.
local function put_first(name, fields, owner)
    local first, firsts = {}, {}
    for _, field in ipairs({owner .. ':write', owner}) do
        local count = redis.call('hget', name, field)
        if count then
            first[field] = true
            firsts[#firsts + 1] = field
            firsts[#firsts + 1] = count
        end
    end
    for i = 1, #fields, 2 do
        if not first[fields[i]] then
            firsts[#firsts + 1] = fields[i]
            firsts[#firsts + 1] = fields[i + 1]
        end
    end
    return firsts
end

local function read_write(name, parties)
    local fields = some_fields(name)
    fields = sought and put_first(name, fields, sought) or fields
    for i = 1, math.min(#fields, 2 * FIELDS_MAX), 2 do
        local field, count = fields[i], fields[i + 1]
        local writer = string.match(field, write_pattern)
        if string.find(writer or field, owner_pattern) and is_count(count) then
            put_party(parties, writer and WRITER or READER, count, writer or field)
        end
    end
    return redis.call('hlen', name) - 1
end

-- Of each value of a group: the value's hash, its owner, and the owner's expire time, which the client's clock set.
-- Whether there are any; one owner may be left out.
local function values(name, parties, fields, but_of)
    local now = now_ms()
    local found = false
    for i = 1, #fields, 2 do
        local value, owner = string.match(fields[i], value_count_pattern)
        if value then
            found = true
            work = work + 2
            local ends = redis.call('hget', name, value .. ':' .. owner .. ':expire_time')
            local lives = ends and tonumber(ends) and tonumber(ends) > now
            if lives and owner ~= but_of and is_count(fields[i + 1]) and redis.call('hget', name, value) == owner then
                put_party(parties, HOLDER, fields[i + 1], owner, value, left_of(ends, now))
            end
        end
    end
    return found
end

-- The values of one owner, who may stand anywhere among many.
local function values_of(name, parties, owner)
    local pattern, cursor = '*:' .. string.gsub(owner, '[*?%[%]\\]', '\\%0') .. ':lock_count', '0'
    repeat
        local page = redis.call('hscan', name, cursor, 'match', pattern, 'count', SOUGHT_PAGE)
        cursor = page[1]
        values(name, parties, page[2])
    until cursor == '0' or parties.count > 0
end

local function group(name, parties)
    if sought then
        values_of(name, parties, sought)
    end
    return values(name, parties, some_fields(name, 'match', '*:lock_count'), parties.count > 0 and sought)
end

-- The form of a hash, and how many hold it.
local function hash(name, parties)
    local size = redis.call('hlen', name)
    if is_heavy(name, size) then
        return UNKNOWN, 0
    end
    if size == 1 then
        local field = redis.call('hkeys', name)[1]
        if string.find(field, owner_pattern) and redis.call('hstrlen', name, field) <= COUNT_DIGITS then
            local count = redis.call('hget', name, field)
            if is_count(count) and count ~= '0' then
                put_party(parties, HOLDER, count, field)
                return MUTEX, 1
            end
        end
        return UNKNOWN, 0
    end
    local mode = redis.call('hstrlen', name, 'mode') <= #'write' and redis.call('hget', name, 'mode')
    if (mode == 'read' or mode == 'write') and seems({'^mode$', owner_pattern, write_pattern}, name) then
        local holders = read_write(name, parties)
        if parties.count > 0 then
            return READ_WRITE, holders
        end
    end
    if seems({value_pattern, value_count_pattern, value_end_pattern}, name) and group(name, parties) then
        return GROUP, parties.count
    end
    return UNKNOWN, 0
end

-- Whether a string is a plain lock: a word that only its owner can know, with a lease. Among all keys only those of
-- redlatch are told from what else looks so.
local TOKEN_MIN, TOKEN_MAX = 16, 128
local our_pattern = '^' .. string.rep('%x', 8) .. '%-%x%x%x%x%-8%x%x%x%-%x%x%x%x%-' .. string.rep('%x', 12) .. ':%d+$'
local function plain(name, ours_only)
    local size = redis.call('strlen', name)
    if size < TOKEN_MIN or size > TOKEN_MAX or redis.call('pttl', name) < 0 then
        return nil
    end
    local token = redis.call('get', name)
    local is_token = string.find(token, '^[%w+/=_:.%-]+$') and not string.find(token, '^%d+$')
    return string.find(token, ours_only and our_pattern or '') and is_token and token
end

-- The number that a string is, as text; nil if it is none.
local function number(name)
    local token = redis.call('strlen', name) <= COUNT_DIGITS and redis.call('get', name)
    return token and string.find(token, '^%-?%d+$') and token
end

-- The key of a permit semaphore's leases, if there are some.
local function leases_of(name)
    local leases = (string.find(name, '{', 1, true) and name or '{' .. name .. '}') .. ':timeout'
    local size = redis.pcall('zcard', leases)
    return type(size) == 'number' and size > 0 and leases
end

-- The permits that are taken, by the ids that clients show; how many, and how many more there are whose lease is over.
local function permits(leases, parties)
    local clock = now_ms()
    local now = string.format('%.0f', clock)
    local first = sought and string.find(sought, '^' .. string.rep('%x', 32) .. '$') and
        string.gsub(sought, '%x%x', function(digits) return string.char(tonumber(digits, 16)) end)
    local ends = first and redis.call('zscore', leases, first)
    if ends and tonumber(ends) > clock then
        put_party(parties, HOLDER, 1, string.lower(sought), '', left_of(ends, clock))
    end
    local taken = redis.call('zrangebyscore', leases, '(' .. now, '+inf', 'withscores', 'limit', 0, FIELDS_MAX)
    for i = 1, #taken, 2 do
        local id = taken[i]
        work = work + 1
        if #id == 16 and id ~= first then
            local hex = string.format(string.rep('%02x', 16), string.byte(id, 1, 16))
            put_party(parties, HOLDER, 1, hex, '', left_of(taken[i + 1], clock))
        end
    end
    return redis.call('zcount', leases, '(' .. now, '+inf'), redis.call('zcount', leases, 0, now)
end

-- Puts the record of a name; only that of a lock if `locks_only`.
local function describe(records, name, kind, locks_only)
    local parties = {count = 0}
    local detected, holders, waiters, left = NOTHING, 0, 0, '0'
    local leases = kind == 'string' and number(name) and leases_of(name)
    if kind == 'hash' then
        detected, holders = hash(name, parties)
    elseif kind == 'string' and plain(name, locks_only) then
        detected, holders = PLAIN, 1
        put_party(parties, HOLDER, 1, redis.call('get', name))
    elseif leases then
        local over
        holders, over = permits(leases, parties)
        detected = PERMITS
        left = string.format('%.0f', tonumber(number(name)) + over)
    elseif kind == 'string' and number(name) then
        detected, left = locks_only and UNKNOWN or COUNT, number(name)
    elseif kind ~= 'none' then
        detected = UNKNOWN
    end
    if detected == UNKNOWN and locks_only then
        return
    end
    local token = '0'
    if detected == NOTHING or detected == MUTEX then
        local tag = string.find(name, '{', 1, true) and name or '{' .. name .. '}'
        local queued = redis.pcall('lrange', 'redisson_lock_queue:' .. tag, 0, 99)
        local token_size = redis.pcall('strlen', 'redisson_lock_token:' .. tag)
        local short = type(token_size) == 'number' and token_size > 0 and token_size <= COUNT_DIGITS
        local issued = short and redis.pcall('get', 'redisson_lock_token:' .. tag)
        if #queued > 0 then
            detected, waiters = FAIR, redis.call('llen', 'redisson_lock_queue:' .. tag)
        end
        if type(issued) == 'string' and is_count(issued) then
            detected, token = FENCED, issued
        end
        work = work + #queued
        for _, owner in ipairs(queued) do
            put_party(parties, WAITER, 0, owner)
        end
    end
    local record = {}
    put(record, name)
    put(record, kind)
    put(record, detected)
    put(record, redis.call('pttl', name))
    put(record, token)
    put(record, holders)
    put(record, waiters)
    put(record, left)
    put(record, parties.count)
    put(records, table.concat(record) .. table.concat(parties))
end

local records = {}
if #KEYS == 1 then
    put(records, '0')
    describe(records, KEYS[1], redis.call('type', KEYS[1]).ok, false)
else
    local page = redis.call('scan', ARGV[1], 'match', ARGV[2], 'count', ARGV[3])
    put(records, page[1])
    for _, name in ipairs(page[2]) do
        local kind = redis.call('type', name).ok
        local may_be = kind == 'hash' or
            (kind == 'string' and (plain(name, true) or (number(name) and leases_of(name))))
        if may_be and #name <= NAME_MAX then
            work = work + 1 + #name / NAME_BYTES
            if work <= WORK_MAX then
                describe(records, name, kind, true)
            else
                put(records, #name .. ':' .. name)
            end
        end
    end
end
return table.concat(records)
