-- watch: returns whether a name is free, and if not, how long to wait before the next query; writes nothing.
-- A lock is free if nobody holds it, a semaphore if it has a permit, a latch if it is open. A number is a semaphore if
-- it has leases, if it is watched as one, or if it is 0 or less and is not watched as a latch. Else it is a latch.
-- Begins with shared/one_holder.lua.
-- Begins with shared/group.lua.
-- Begins with shared/read_write_hash.lua.
-- KEYS[1] name   ARGV[1] the kind it is watched as (enum redlatch_kind)
-- Returns -2 if it is free. Returns -10 - k if it is of another kind k than watched, because the messages of k come on
-- another channel. Else returns the remaining ms, -1 without a TTL; at most 250 of a plain lock, because other
-- libraries publish no release. A key of another type or shape is an error.
-- SPDX-License-Identifier: Apache-2.0
local MUTEX, READ, PLAIN, SEMAPHORE, LATCH = 1, 5, 7, 9, 11
local watched_as = tonumber(ARGV[1])

-- Returns the ms until the next lease of a permit ends, -1 if it never ends, and whether it is over. Returns nil and
-- false if there are no leases.
local function leases()
    local tag = string.find(KEYS[1], '{', 1, true) and KEYS[1] or '{' .. KEYS[1] .. '}'
    local nearest = redis.pcall('zrange', tag .. ':timeout', 0, 0, 'withscores')
    if not nearest[2] then
        return nil, false
    end
    local time = redis.call('time')
    local left = tonumber(nearest[2]) - (time[1] * 1000 + math.floor(time[2] / 1000))
    return left < 1000000000000 and math.max(left, 0) or -1, left <= 0
end

local ttl = redis.call('pttl', KEYS[1])
if ttl == -2 then
    return -2
end
local kind = MUTEX
if redis.call('type', KEYS[1]).ok == 'string' then
    local size = redis.call('strlen', KEYS[1])
    local token = size <= 128 and redis.call('get', KEYS[1]) or ''
    if size <= 20 and string.find(token, '^%-?%d+$') then
        local nearest, over = leases()
        local some = tonumber(token) > 0
        kind = (nearest or watched_as == SEMAPHORE or (not some and watched_as ~= LATCH)) and SEMAPHORE or LATCH
        if kind == SEMAPHORE and (some or over) or kind == LATCH and not some then
            return -2
        end
        ttl = nearest or ttl
    elseif ttl >= 0 and #token >= 16 and string.find(token, '^[%w+/=_:.%-]+$') then
        kind = PLAIN
        ttl = math.min(ttl, 250)
    end
end
if kind == MUTEX and redis.call('hexists', KEYS[1], 'mode') == 1 and is_read_write(KEYS[1]) then
    kind = READ
elseif kind == MUTEX and not holder_of(KEYS[1]) and is_foreign(KEYS[1]) then
    return wrong_hash()
end
return kind == watched_as and ttl or -10 - kind
