-- release_plain: a plain lock is free, if the owner held it, and those who listen are told (compare-and-delete).
-- KEYS[1] key   ARGV[1] owner   ARGV[2] channel
-- Returns 0 when the owner does not hold the lock; else 1, plus the number of subscribers told.
-- May be sent twice: a repeat finds no value of its own. A server that is out of memory still carries it out.
-- SPDX-License-Identifier: Apache-2.0
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call('del', KEYS[1])
return 1 + redis.call('publish', ARGV[2], '0')
