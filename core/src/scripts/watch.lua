-- watch: whether a lock is free, and if not for how long; writes nothing.
-- KEYS[1] name
-- Returns the remaining ms, -1 if the lock has no lease, -2 when it is free. A key of another type is an error.
-- SPDX-License-Identifier: Apache-2.0
if redis.call('hlen', KEYS[1]) == 0 then
    return -2
end
return redis.call('pttl', KEYS[1])
