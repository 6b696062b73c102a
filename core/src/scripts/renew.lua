-- renew: raises the TTL of each named lock to the lease, if its owner still holds it.
-- KEYS names   ARGV owner, lease in ms for each name; a lease of 0 only asks
-- Returns for each name the remaining ms before (-1: it had no TTL), or -2 if the owner does not hold it.
-- May be sent twice or late: a lease is never shortened. A key of another type has the reply -2 and does not affect the
-- others.
-- SPDX-License-Identifier: Apache-2.0
local before = {}
for i, name in ipairs(KEYS) do
    if redis.pcall('hexists', name, ARGV[2 * i - 1]) == 1 then
        local ttl, lease = redis.call('pttl', name), tonumber(ARGV[2 * i])
        if lease > 0 and ttl < lease then
            redis.call('pexpire', name, ARGV[2 * i])
        end
        before[i] = ttl
    else
        before[i] = -2
    end
end
return before
