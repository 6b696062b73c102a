-- release_plain: frees a plain lock if the owner holds it, and notifies subscribers (compare-and-delete).
-- KEYS[1] key   ARGV[1] owner   ARGV[2] channel
-- Returns 0 if the owner does not hold the lock. Else returns 1 plus the number of receivers.
-- May be sent twice: a repeat does not find the owner as the value. A server that is out of memory still executes it.
-- SPDX-License-Identifier: Apache-2.0
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call('del', KEYS[1])
return 1 + redis.call('publish', ARGV[2], '0')
