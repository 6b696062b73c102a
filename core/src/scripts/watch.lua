-- watch: whether a name is free, and if not for how long to wait before the next look; writes nothing.
-- A lock is free that nobody holds, a semaphore that has a permit, a latch that is open. A number says not which of the
-- two it is: with leases beside it, or if it is zero or less, it is a semaphore's, else what a latch has left.
-- Begins with shared/one_holder.lua.
-- Begins with shared/group.lua.
-- Begins with shared/read_write.lua.
-- KEYS[1] name   ARGV[1] the kind it is watched as (enum redlatch_kind)
-- Returns -2 when it is free; else, where a name of another kind than it is watched as is told of on another channel,
-- -10 less that kind; else the remaining ms, at most 250 of a plain lock, whose release by others is not told; -1
-- without a lease. A key of another type is an error, and so is what has not the shape of any of these.
-- SPDX-License-Identifier: Apache-2.0
local MUTEX, READ, PLAIN, SEMAPHORE, LATCH = 1, 5, 7, 9, 11
local watched_as = tonumber(ARGV[1])

-- The ms until the next lease of a permit ends, -1 for none or never, and whether one is over; nil without leases.
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
