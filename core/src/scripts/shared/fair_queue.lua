-- fair_queue: the server queue of a fair lock, which is Redisson's list and sorted set of waiters (wire format 2.2).
-- All scripts of the fair lock that write begin with it.
-- KEYS[2] queue, a list of owners   KEYS[3] scores: for each owner the ms after which it may be removed from the head
-- KEYS[4] heartbeat key of the caller's client. It ends with the uuid, and so does that of every other client.
-- Times are the server's. Dead waiters are removed at the head only, and scores of others are not shifted. A key of the
-- wrong type counts as an empty queue here. A script that enters a waiter reads both keys before, and so ends with an
-- error.
-- Heartbeat keys of other clients cannot be declared in KEYS. While the slot migrates, a node may refuse to read a key
-- that it does not have. So a script reads these keys before its first write, and reads no key that it has deleted.
-- Begins with shared/clock.lua.
-- Begins with shared/waiters.lua.
-- SPDX-License-Identifier: Apache-2.0
local queue, timeouts, sign = KEYS[2], KEYS[3], KEYS[4]
local FOREIGN_TIMEOUT = 300000 -- ms, Redisson's own limit for a called head that does not acquire
local now = server_time()

-- Returns the heartbeat key of a waiter's client, if its uuid has version 8. Returns false for a client of Redisson,
-- whose uuid has version 4: it has no heartbeat key.
local function sign_of(owner)
    return string.sub(owner, 15, 15) == '8' and string.sub(sign, 1, -37) .. string.sub(owner, 1, 36)
end

-- Called when the queue is empty: removes the client's heartbeat key, which nobody needs any more.
local function drop_sign()
    if redis.pcall('get', sign) == '1' then
        redis.call('del', sign)
    end
end

local function set_score(owner, score)
    redis.call('zadd', timeouts, 'xx', string.format('%.0f', score), owner)
end

-- Returns whether a waiter's client lives. EXISTS names two keys: for one key that has not arrived, the node that
-- imports the slot would reply that it does not exist, but it refuses two keys of which it does not have one.
local function has_sign(owner)
    local its_sign = sign_of(owner)
    return not its_sign or redis.call('exists', queue, its_sign) == 2
end

-- Returns the head or nil, its score, the dead waiters before it (no score, score passed, or no heartbeat key), and the
-- number of all elements before it. `alive` counts as alive if it has a score. `leaver` is skipped.
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

-- Removes the dead waiters before the head from queue and scores.
local function strike(gone)
    for _ = 1, #gone do
        redis.call('lpop', queue)
    end
    for first = 1, #gone, 1000 do
        redis.call('zrem', timeouts, unpack(gone, first, math.min(first + 999, #gone)))
    end
end

-- Called when the lock is free: notifies the head that seek_head found, which has `timeout_ms` ms to acquire. Without a
-- head, notifies the subscribers of the lock's channel. Returns the number of receivers, and the score of the head.
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
