-- leave_write: how a writer leaves a lock (wire format 2.6), but a lease is shortened only to that of the reads that go
-- on. All readers are looked at before the first write. That is hdel, which a server that is out of memory carries out.
-- Begins with shared/readers.lua.
-- SPDX-License-Identifier: Apache-2.0
-- A writer leaves: the lock is free, or its owner's who goes on reading; false when it held nothing.
local function leave_write(name, base, field)
    local longest = longest_of_all(name, base)
    if redis.call('hdel', name, field) == 0 then
        return false
    end
    if longest == -2 then
        redis.call('del', name)
        return true
    end
    redis.call('hset', name, 'mode', 'read')
    if longest >= 0 then
        redis.call('pexpire', name, math.max(longest, 1))
    end
    return true
end
