-- acquire_fenced: acquires a free lock for the owner, with one level, and returns a token greater than all before.
-- Effects as RFencedLock's acquire (wire format 2.7), except that the counter never expires (W-19).
-- Begins with shared/one_holder.lua.
-- Begins with shared/tokens.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] counter of tokens   ARGV[1] owner   ARGV[2] lease in ms
-- ARGV[3] 1: a new token is at least the server's time in microseconds
-- Returns the token as a string if the owner holds the lock. Else returns the holder's remaining ms, -1 if the lock has
-- no TTL.
-- May be sent twice: a repeat finds the owner's field and returns the same token, because no other owner can draw one
-- meanwhile.
-- Types of keys and the counter are checked before the first write.
-- SPDX-License-Identifier: Apache-2.0
local ttl = redis.call('pttl', KEYS[1])
local held = ttl ~= -2
local holder = held and holder_of(KEYS[1], ARGV[1])
if held and holder ~= ARGV[1] then
    return holder and ttl or wrong_hash()
end
local issued = redis.call('get', KEYS[2])
if issued and not is_token(issued) then
    return wrong_counter()
end
local denied = missing_permission(KEYS[2], 'persist', 'set') or missing_permission(KEYS[1], 'hsetnx', 'pexpire')
if denied then
    return denied
end
local token = held and issued or draw_token(KEYS[2], ARGV[3])
redis.call('hsetnx', KEYS[1], ARGV[1], 1)
if ttl < tonumber(ARGV[2]) then
    redis.call('pexpire', KEYS[1], ARGV[2])
end
return token
