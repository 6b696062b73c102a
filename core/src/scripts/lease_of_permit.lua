-- lease_of_permit: returns the remaining lease of a permit; writes nothing.
-- Begins with shared/clock.lua.
-- Begins with shared/permit_ids.lua.
-- KEYS[1] leases   ARGV[1] id of 16 bytes
-- Returns the remaining ms, -1 if the lease never ends, 0 if the permit is not in use or its lease is over. A key of
-- another type or shape is an error.
-- SPDX-License-Identifier: Apache-2.0
local NEVER = 922337203685477
local now = server_time()
local score = tonumber(redis.call('zscore', KEYS[1], ARGV[1]) or 0)
local first = score == 0 and redis.call('zrange', KEYS[1], 0, 0)[1]
if first and not is_permit(first) then
    return wrong_leases()
end
if score >= NEVER then
    return -1
end
return math.max(score - now, 0)
