-- release_read: lowers the reader's hold count to the levels left. With 0 left, a lock in mode read ends with the other
-- readers. If no reader is left, frees the lock and notifies waiters.
-- Begins with shared/leave_read.lua.
-- Begins with shared/allowed.lua.
-- KEYS[1] name   KEYS[2] timeout key of the first level that is released   ARGV[1] owner   ARGV[2] levels left
-- ARGV[3] channel   ARGV[4] base of timeout keys
-- Returns 0 if the owner holds nothing. Else returns 1 plus, if the lock became free, the number of receivers.
-- May be sent twice: a repeat finds no field (full release) or the count it left (partial).
-- SPDX-License-Identifier: Apache-2.0
local count, left = redis.call('hget', KEYS[1], ARGV[1]), tonumber(ARGV[2])
if not count then
    return 0
elseif left >= tonumber(count) then
    return 1
end
local denied = missing_permission(timeout_of(ARGV[4], ARGV[1], 1), 'set', 'del') or
    missing_permission(KEYS[1], 'hdel', 'del', 'pexpire')
if denied then
    return denied
end
return 1 + (leave_read(KEYS[1], ARGV[4], ARGV[1], tonumber(count), left) and redis.call('publish', ARGV[3], '0') or 0)
