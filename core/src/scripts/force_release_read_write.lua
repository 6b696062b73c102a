-- force_release_read_write: frees a read-write lock that is held in the given mode, whoever holds it, and notifies
-- waiters. Effects as forceUnlock of RReadWriteLock's two locks (wire format 2.5, 2.6): in the other mode nothing is
-- changed. A writer who also reads holds the lock in write mode. Timeout keys stay until their TTLs end.
-- Begins with shared/read_write_hash.lua.
-- KEYS[1] name   ARGV[1] mode: read or write   ARGV[2] channel
-- Returns 1 if the lock was held in that mode, else 0. A hash that is no read-write lock is an error.
-- SPDX-License-Identifier: Apache-2.0
local mode = redis.call('hget', KEYS[1], 'mode')
if mode ~= 'read' and mode ~= 'write' and redis.call('pttl', KEYS[1]) ~= -2 or mode and not is_read_write(KEYS[1]) then
    return wrong_read_write()
end
if mode ~= ARGV[1] then
    return 0
end
local fields = redis.call('hgetall', KEYS[1])
for i = 1, #fields, 2 do
    if fields[i] ~= 'mode' and not (is_party(fields[i]) and string.find(fields[i + 1], '^%d+$')) then
        return wrong_read_write()
    end
end
redis.call('del', KEYS[1])
redis.call('publish', ARGV[2], ARGV[1] == 'read' and '0' or '1')
return 1
