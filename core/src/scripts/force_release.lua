-- force_release: frees the lock, whoever holds it, and notifies waiters (RLock's forceUnlock, wire format 2.1).
-- Begins with shared/one_holder.lua.
-- Begins with shared/group.lua.
-- KEYS[1] name   ARGV[1] channel
-- Returns 1 if there was a lock, else 0. A group of locks, which has the same channel, is deleted as a whole. A key of
-- another type, or a hash that is neither a lock nor a group, is an error.
-- SPDX-License-Identifier: Apache-2.0
if not holder_of(KEYS[1]) and is_foreign(KEYS[1]) then
    return wrong_hash()
end
if redis.call('del', KEYS[1]) == 0 then
    return 0
end
redis.call('publish', ARGV[1], '0')
return 1
