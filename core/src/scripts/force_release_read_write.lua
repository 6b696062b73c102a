-- force_release_side: a read-write lock that is held in the given mode is free, whoever held it, and waiters are told.
-- Effects as forceUnlock of RReadWriteLock's sides (wire format 2.5, 2.6): in the other mode nothing is touched. A
-- writer who also reads holds it in write mode. Timeout keys are left to run out.
-- Begins with shared/read_write.lua.
-- KEYS[1] name   ARGV[1] mode: read or write   ARGV[2] channel
-- Returns 1 when there was a lock, else 0. A hash that is no read-write lock is an error.
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
