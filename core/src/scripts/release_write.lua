-- release_write: lowers the writer's hold count to the levels left. With 0 left, frees the lock, or downgrades it if
-- its owner also reads. Both notify all waiters (W-11).
-- Begins with shared/allowed.lua.
-- KEYS[1] name   ARGV[1] field of the writer   ARGV[2] levels left   ARGV[3] channel   ARGV[4] base of timeout keys
-- Returns 0 if the owner holds nothing. Else returns 1 plus, after a full release, the number of receivers.
-- May be sent twice: a repeat finds no field (full release) or the count it left (partial).
-- SPDX-License-Identifier: Apache-2.0
if ARGV[2] == '0' then
    if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
        return 0
    end
    local denied = missing_permission(KEYS[1], 'del', 'hset', 'pexpire')
    if denied then
        return denied
    end
-- Goes on with shared/leave_write.lua.
    leave_write(KEYS[1], ARGV[4], ARGV[1])
    return 1 + redis.call('publish', ARGV[3], '1')
end
-- Goes on with shared/levels.lua.
return lower(KEYS[1], ARGV[1], ARGV[2]) and 1 or 0
