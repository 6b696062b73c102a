-- force_release: the lock is free, whoever held it, and waiters are told (RLock's forceUnlock, wire format 2.1).
-- KEYS[1] name   ARGV[1] channel
-- Returns 1 when there was a lock, else 0. hlen makes a key of another type an error before anything is deleted.
-- SPDX-License-Identifier: Apache-2.0
redis.call('hlen', KEYS[1])
if redis.call('del', KEYS[1]) == 0 then
    return 0
end
redis.call('publish', ARGV[1], '0')
return 1
