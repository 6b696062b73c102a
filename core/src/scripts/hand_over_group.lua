-- hand_over_group: passes the values of one owner to another. They are not free in between. No message is published.
-- Begins with shared/held_values.lua.
-- Begins with shared/prolong_group.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] group   ARGV[1] from   ARGV[2] to   ARGV[3] hold count of the new owner   ARGV[4] lease in ms
-- ARGV[5] number of values   ARGV[6...] values
-- Returns 1 if the new owner holds them all, 0 if neither does: then nothing is written.
-- May be sent twice: a repeat finds the new owner and writes nothing.
-- SPDX-License-Identifier: Apache-2.0
if not held_until(redis.call, KEYS[1], ARGV[1], 6, #ARGV) then
    return held_until(redis.call, KEYS[1], ARGV[2], 6, #ARGV) and 1 or 0
end
local now = server_time()
local denied = missing_permission(KEYS[1], 'hdel', 'pexpire')
if denied then
    return denied
end
for i = 6, #ARGV do
    local from, to = ARGV[i] .. ':' .. ARGV[1], ARGV[i] .. ':' .. ARGV[2]
    redis.call('hset', KEYS[1], ARGV[i], ARGV[2], to .. ':lock_count', ARGV[3],
        to .. ':expire_time', string.format('%.0f', now + ARGV[4]))
    redis.call('hdel', KEYS[1], from .. ':expire_time', from .. ':lock_count')
end
prolong_group(KEYS[1], ARGV[4])
return 1
