-- renew_permits: every lease named is at least as long as asked, for those permits that are still taken.
-- Begins with shared/clock.lua.
-- KEYS leases   ARGV id of 16 bytes, lease in ms for each; a lease of 0 only asks
-- Returns for each the remaining ms before, or -2 when the permit is not taken any more or its lease is over.
-- May be sent twice or late: a lease is never shortened. A key of another type answers -2 and spoils nothing for the
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
