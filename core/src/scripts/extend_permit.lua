-- extend_permit: sets a permit's lease, also if that is shorter.
-- Effects as RPermitExpirableSemaphore's updateLeaseTime (wire format 2.11), by the server's clock.
-- Begins with shared/clock.lua.
-- Begins with shared/count.lua.
-- KEYS[1] name   KEYS[2] leases   ARGV[1] lease in ms   ARGV[2] id of 16 bytes
-- Returns 1, or 0 if the permit is not in use any more or its lease is over.
-- SPDX-License-Identifier: Apache-2.0
local value = redis.call('get', KEYS[1])
if value and not is_count(value) then
    return wrong_text()
end
local now = server_time()
local score = redis.call('zscore', KEYS[2], ARGV[2])
if not score or tonumber(score) <= now then
    return 0
end
redis.call('zadd', KEYS[2], string.format('%.0f', now + ARGV[1]), ARGV[2])
return 1
