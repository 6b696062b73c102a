-- renew_permits: raises the lease of each named permit to the given one, if the permit is still in use.
-- Begins with shared/clock.lua.
-- KEYS leases   ARGV id of 16 bytes, lease in ms for each; a lease of 0 only asks
-- Returns for each the remaining ms before, or -2 if the permit is not in use any more or its lease is over.
-- May be sent twice or late: a lease is never shortened. A key of another type has the reply -2 and does not affect the
-- others.
-- SPDX-License-Identifier: Apache-2.0
local now = server_time()
local before = {}
for i, leases in ipairs(KEYS) do
    local score = redis.pcall('zscore', leases, ARGV[2 * i - 1])
    score = type(score) == 'string' and tonumber(score) or 0
    before[i] = -2
    if score > now then
        local over = now + ARGV[2 * i]
        if score < over then
            redis.call('zadd', leases, string.format('%.0f', over), ARGV[2 * i - 1])
        end
        before[i] = score - now
    end
end
return before
