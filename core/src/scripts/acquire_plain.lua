-- acquire_plain: the owner holds a free plain lock: a string with the owner as its value, as SET NX PX makes it.
-- KEYS[1] key   ARGV[1] owner   ARGV[2] lease in ms
-- Returns nil when the owner holds the lock; else for how many ms to wait for a message before the next look: what is
-- left of the lease, -1 if it has none; at most 100 if the holder is no redlatch, which would not tell of its release.
-- May be sent twice: a repeat finds the own value, and leaves the lease at least as long as asked.
-- The first command that touches the key's type is a read, so a key of another type stays as it was.
-- SPDX-License-Identifier: Apache-2.0
local holder = redis.call('get', KEYS[1])
if not holder then
    redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
    return nil
end
local ttl = redis.call('pttl', KEYS[1])
if holder == ARGV[1] then
    if ttl < tonumber(ARGV[2]) then
        redis.call('pexpire', KEYS[1], ARGV[2])
    end
    return nil
end
local tells = string.find(holder, '^%x+%-%x+%-8%x+%-%x+%-%x+:%d+$')
if not tells and (ttl < 0 or ttl > 100) then
    return 100
end
return ttl
