-- renew_plain: as renew, for plain locks.
-- KEYS keys   ARGV owner, lease in ms for each key; a lease of 0 only asks
-- Returns for each key the remaining ms before (-1: it had no TTL), or -2 if the owner does not hold it.
-- May be sent twice or late: a lease is never shortened. A key of another type has the reply -2 and does not affect the
-- others.
-- SPDX-License-Identifier: Apache-2.0
local before = {}
for i, key in ipairs(KEYS) do
    if redis.pcall('get', key) == ARGV[2 * i - 1] then
        local ttl, lease = redis.call('pttl', key), tonumber(ARGV[2 * i])
        if lease > 0 and ttl < lease then
            redis.call('pexpire', key, ARGV[2 * i])
        end
        before[i] = ttl
    else
        before[i] = -2
    end
end
return before
