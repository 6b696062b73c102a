-- hand_over_fenced: as hand_over, and the new owner gets a token greater than all before.
-- Begins with shared/tokens.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] counter of tokens   ARGV[1] from   ARGV[2] to   ARGV[3] hold count of the new owner
-- ARGV[4] lease in ms   ARGV[5] 1: a new token is at least the server's time in microseconds
-- Returns the token as a string if the new owner holds the lock, 0 if neither does: then nothing is written.
-- May be sent twice: a repeat finds the new owner and returns the same token.
-- SPDX-License-Identifier: Apache-2.0
local held = redis.call('hexists', KEYS[1], ARGV[1]) == 1
if not held and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
    return 0
end
local issued = redis.call('get', KEYS[2])
if issued and not is_token(issued) then
    return wrong_counter()
end
local denied = missing_permission(KEYS[2], 'persist', 'set') or
    held and missing_permission(KEYS[1], 'hset', 'hdel', 'pexpire')
if denied then
    return denied
end
local token = not held and issued or draw_token(KEYS[2], ARGV[5])
if held then
    redis.call('hset', KEYS[1], ARGV[2], ARGV[3])
    redis.call('hdel', KEYS[1], ARGV[1])
    redis.call('pexpire', KEYS[1], ARGV[4])
end
return token
