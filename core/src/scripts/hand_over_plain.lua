-- hand_over_plain: passes the plain lock of one owner to another. The lock is not free in between, and no message is
-- published.
-- KEYS[1] key   ARGV[1] from   ARGV[2] to   ARGV[3] lease in ms
-- Returns 1 if the new owner holds the lock, 0 if neither does: then nothing is written.
-- May be sent twice: a repeat finds the new owner and writes nothing.
-- SPDX-License-Identifier: Apache-2.0
local holder = redis.call('get', KEYS[1])
if holder == ARGV[1] then
    redis.call('set', KEYS[1], ARGV[2], 'px', ARGV[3])
    return 1
end
return holder == ARGV[2] and 1 or 0
