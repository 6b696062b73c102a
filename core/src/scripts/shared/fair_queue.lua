-- fair_queue: what every script of the fair lock begins with; Redisson's list and sorted set of waiters (wire format
-- 2.2).
-- KEYS[2] queue, a list of owners   KEYS[3] time-outs, each owner's score: the ms when it may be taken off the head
-- KEYS[4] heartbeat of the caller's client; it ends with the uuid, and so does that of every other client
-- Times are the server's. Only the head is ever taken off, nobody else's score is shifted, and what is of the wrong
-- type counts as an empty queue here: whoever enters it reads both keys first, which is an error then.
-- Begins with shared/clock.lua.
-- Begins with shared/waiters.lua.
-- SPDX-License-Identifier: Apache-2.0
local queue, timeouts, sign = KEYS[2], KEYS[3], KEYS[4]
local FOREIGN_TIMEOUT = 300000 -- Redisson's own bound for a head that does not come
local now = server_time()

-- The heartbeat of a waiter's client: its uuid has the version 8. False for Redisson's, which have 4 and no sign.
local function sign_of(owner)
    return string.sub(owner, 15, 15) == '8' and string.sub(sign, 1, -37) .. string.sub(owner, 1, 36)
end

-- Somebody left the queue: with nobody in it the client's heartbeat is of no use any more.
local function drop_sign()
    if redis.call('exists', queue) == 0 and redis.pcall('get', sign) == '1' then
        redis.call('del', sign)
    end
end

local function set_score(owner, score)
    redis.call('zadd', timeouts, 'xx', string.format('%.0f', score), owner)
end

-- The head, its score, and those before it, who are gone: no score, time over, or no heartbeat. `alive` is not.
-- Without a head the first result is nil.
local function seek_head(alive)
    local gone = {}
    while true do
        local owner = redis.pcall('lindex', queue, #gone)
        local score = type(owner) == 'string' and redis.pcall('zscore', timeouts, owner)
        if type(owner) ~= 'string' or type(score) == 'table' or not is_owner(owner) then
            return nil, nil, gone
        end
        score = tonumber(score or 0)
        local its_sign = sign_of(owner)
        if score > 0 and owner == alive then
            return owner, score, gone
        end
        if score > now and (not its_sign or redis.call('exists', its_sign) == 1) then
            return owner, score, gone
        end
        gone[#gone + 1] = owner
    end
end

-- Takes those off the queue who stand before its head.
local function strike(gone)
    for _, owner in ipairs(gone) do
        redis.call('lpop', queue)
        redis.call('zrem', timeouts, owner)
    end
end

-- The head and its score, after those before it were taken off.
local function find_head(alive)
    local owner, score, gone = seek_head(alive)
    strike(gone)
    return owner, score
end

-- The lock is free: the head is notified and has `timeout_ms` ms to come. With nobody in the queue those who watch are
-- notified. Returns how many received the message, the head, its score.
local function call_head(timeout_ms, channel, alive)
    local owner, score = find_head(alive)
    if not owner then
        return redis.call('publish', channel, '0')
    end
    local latest = now + (sign_of(owner) and timeout_ms or FOREIGN_TIMEOUT)
    if score > latest then
        set_score(owner, latest)
        score = latest
    end
    return redis.call('publish', channel .. ':' .. owner, '0'), owner, score
end
