-- inspect: reports what a name is, or the locks among one page of the server's keys; writes nothing.
-- KEYS[1] name   ARGV[1] an owner to list first if it holds the name, or empty
-- or no key, and ARGV[1] cursor   ARGV[2] pattern   ARGV[3] how many keys to scan
-- Returns one string: the next cursor ("0": no more), then a report for each name. Each of them, and each part of a
-- report, is written as <size>:<bytes>. A report: name, Redis type, detected kind, remaining ms, token, number of
-- holders, number of waiters, count of a semaphore or latch, number of listed parties; then of each party role, count,
-- owner, the value of a group that it holds or "", and the remaining ms of that value or of a permit, -1 without a
-- lease of its own. Detected kinds and roles are enum redlatch_detected_kind and redlatch_role. The formats of
-- Redisson's hashes and numbers: wire format 1.5, 2.5, 2.9 and 2.10 to 2.12.
-- The server does nothing else meanwhile. So most keys that are no locks are recognised by their type and size, before
-- anything long is read, and a few hundred fields of a hash are read at most, except in search of an owner of a group.
-- If a page has many large locks or long names, the last of them get a report of the name alone: the client then
-- inspects them one by one.
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

-- No lock has a longer name. A scan skips longer keys, because one reply has all names of a page.
local NAME_MAX = 65535

-- No lock has fields of this size on average. Of up to FEW fields the server measures all, of more it samples some.
local FIELD_BYTES_MAX, FEW = 4096, 16
-- The number of names and fields that one page may inspect, in a millisecond or two: a name counts one more for each
-- NAME_BYTES of its length. `work` is their number so far. FIELDS_MAX fields of one hash are listed at most.
local WORK_MAX, NAME_BYTES, work = 400, 256, 0
local FIELDS_MAX = 100

-- The owner to list first, and how many fields of a hash are searched for it at a time.
local sought, SOUGHT_PAGE = #KEYS == 1 and ARGV[1], 1000

-- Returns whether a text is a count that a client can read.
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

-- Returns the remaining ms of a lease that others have written. One of more than thirty years counts as endless: -1.
local ENDLESS_MS = 1000000000000
local function left_of(ends, now)
    local left = tonumber(ends) - now
    return left < ENDLESS_MS and left or -1
end

-- Returns whether the fields are too long for a lock. Returns false if access rules forbid the command.
local function is_heavy(name, size)
    local bytes = redis.pcall('memory', 'usage', name, 'samples', size > FEW and 5 or 0)
    return type(bytes) == 'number' and bytes - 2 * #name > size * FIELD_BYTES_MAX
end

-- Returns whether a random field matches one of the patterns, which are those of a read-write lock or of a group.
-- Returns true if the server is older than 6.2, or access rules forbid the command: then the hash may be one.
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

-- Returns some of the fields with their values. Of a small hash, which the server keeps in one piece (some hundreds of
-- fields), it returns all.
local function some_fields(name, ...)
    local fields = redis.call('hscan', name, '0', 'count', FIELDS_MAX, ...)[2]
    work = work + #fields / 2
    return fields
end

-- Returns the fields with those of one owner before all others.
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

-- Lists the owner of each value of a group, if its lease is not over. Redisson sets the end of a lease by the clock of
-- the client. The owner `but_of` is left out. Returns whether the fields have any value with an owner.
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

-- Lists the values of one owner, whose fields may be anywhere among many. Ends with the first page that has any.
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

-- Returns the detected kind of a hash, and the number of its holders.
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

-- Returns the value of a string that is a plain lock: a TTL, and a token that only its owner can know. In a scan
-- (`ours_only`) only tokens of redlatch count, because too many other strings have such a form. Else returns nil or
-- false.
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

-- Returns the number that a string is, as text; nil or false if it is none.
local function number(name)
    local token = redis.call('strlen', name) <= COUNT_DIGITS and redis.call('get', name)
    return token and string.find(token, '^%-?%d+$') and token
end

-- Returns the key of a permit semaphore's leases, or false if there are none.
local function leases_of(name)
    local leases = (string.find(name, '{', 1, true) and name or '{' .. name .. '}') .. ':timeout'
    local size = redis.pcall('zcard', leases)
    return type(size) == 'number' and size > 0 and leases
end

-- Lists the permits in use, by the ids that clients show. Returns their number, and that of permits whose lease is
-- over.
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

-- Adds the report of a name to `records`; if `locks_only`, only that of a lock.
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
