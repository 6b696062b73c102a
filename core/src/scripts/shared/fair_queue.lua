-- fair_queue: what every script of the fair lock begins with; Redisson's list and sorted set of waiters (wire format
-- 2.2).
-- KEYS[2] queue, a list of owners   KEYS[3] time-outs, each owner's score: the ms when it may be taken off the head
-- KEYS[4] heartbeat of the caller's client; it ends with the uuid, and so does that of every other client
-- Times are the server's. Only the head is ever taken off, nobody else's score is shifted, and what is of the wrong
-- type counts as an empty queue here: whoever enters it reads both keys first, which is an error then.
-- Heartbeats of other clients cannot be declared. While their slot migrates a server refuses to look at one that it has
-- not, with an error; a script looks at them before it writes, and at no key that it has deleted.
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

-- Nobody is left in the queue: the client's heartbeat is of no use any more.
local function drop_sign()
    if redis.pcall('get', sign) == '1' then
        redis.call('del', sign)
    end
end

local function set_score(owner, score)
    redis.call('zadd', timeouts, 'xx', string.format('%.0f', score), owner)
end

-- Whether a waiter's client lives. The node that imports a slot takes a heartbeat that has not arrived for one that
-- does not exist, but not of two keys.
local function has_sign(owner)
    local its_sign = sign_of(owner)
    return not its_sign or redis.call('exists', queue, its_sign) == 2
end

-- The head, its score, and those before it, who are gone: no score, time over, or no heartbeat. `alive` is not, and
-- `leaver` is left out. Without a head the first result is nil. Then how many were looked at before it.
local function seek_head(alive, leaver)
    local gone, at = {}, 0
    while true do
        local owner = redis.pcall('lindex', queue, at)
        local score = type(owner) == 'string' and redis.pcall('zscore', timeouts, owner)
        if type(owner) ~= 'string' or type(score) == 'table' or not is_owner(owner) then
            return nil, nil, gone, at
        end
        score = tonumber(score or 0)
        if owner ~= leaver then
            if score > 0 and owner == alive or score > now and has_sign(owner) then
                return owner, score, gone, at
            end
            gone[#gone + 1] = owner
        end
        at = at + 1
    end
end

-- Takes those off the queue who stand before its head.
local function strike(gone)
    for _ = 1, #gone do
        redis.call('lpop', queue)
    end
    for first = 1, #gone, 1000 do
        redis.call('zrem', timeouts, unpack(gone, first, math.min(first + 999, #gone)))
    end
end

-- The lock is free: its head, which seek_head found, is notified and has `timeout_ms` ms to come. Without a head those
-- who watch are notified. Returns how many received the message, and the score of the head.
local function call_head(timeout_ms, channel, owner, score)
    if not owner then
        return redis.call('publish', channel, '0')
    end
    local latest = now + (sign_of(owner) and timeout_ms or FOREIGN_TIMEOUT)
    if score > latest then
        set_score(owner, latest)
        score = latest
    end
    return redis.call('publish', channel .. ':' .. owner, '0'), score
end
