-- leave_write: how a writer releases a lock (wire format 2.6). The TTL is shortened only to that of the owner's own
-- read holds. All readers are checked before the first write. That is HDEL, which a server that is out of memory still
-- executes.
-- Begins with shared/readers.lua.
-- SPDX-License-Identifier: Apache-2.0
-- Removes a writer: the lock is then free, or held by the same owner as a reader. Returns false if it held nothing.
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
