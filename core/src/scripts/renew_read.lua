-- renew_read: for those readers who still hold, the timeout key of every level and the lock end no sooner than asked.
-- KEYS names   ARGV owner, lease in ms, base of timeout keys for each name; a lease of 0 only asks
-- Returns for each name the remaining ms before (-1: it had no lease), or -2 when the owner does not hold it or its
-- lease is over: timeout keys are never made anew, so nothing late brings a reader back.
-- May be sent twice or late: a lease is never shortened. A key of another type answers -2 and spoils nothing for the
-- others.
-- SPDX-License-Identifier: Apache-2.0
local before = {}
for i, name in ipairs(KEYS) do
    local timeout = ARGV[3 * i] .. ':' .. ARGV[3 * i - 2] .. ':rwlock_timeout:'
    local count = redis.pcall('hget', name, ARGV[3 * i - 2])
    local lease, alive = tonumber(ARGV[3 * i - 1]), false
    for nth = 1, math.min(type(count) == 'string' and tonumber(count) or 0, 1000) do
        local ttl = redis.call('pttl', timeout .. nth)
        alive = alive or ttl ~= -2
        if ttl >= 0 and ttl < lease then
            redis.call('pexpire', timeout .. nth, ARGV[3 * i - 1])
        end
    end
    before[i] = alive and redis.call('pttl', name) or -2
    if alive and lease > 0 and before[i] < lease then
        redis.call('pexpire', name, ARGV[3 * i - 1])
    end
end
return before
