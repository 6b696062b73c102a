-- renew_read: raises the TTLs of each lock and of its reader's timeout keys to the lease, if the reader still holds it.
-- Begins with shared/readers.lua.
-- KEYS for each entry: name, timeout key of the first level   ARGV for each: owner, lease in ms, base of timeout keys;
-- a lease of 0 only asks
-- Returns for each name the remaining ms of the owner's lease before (-1: no TTL), or -2 if the owner does not hold the
-- lock or its lease is over. Missing timeout keys are never created, so a late renewal does not revive a reader.
-- May be sent twice or late: a lease is never shortened. A key of another type has the reply -2 and does not affect the
-- others.
-- SPDX-License-Identifier: Apache-2.0
local before = {}
for i = 1, #KEYS / 2 do
    local name, owner, base = KEYS[2 * i - 1], ARGV[3 * i - 2], ARGV[3 * i]
    local count = redis.pcall('hget', name, owner)
    local lease, longest = tonumber(ARGV[3 * i - 1]), -2
    for nth = 1, math.min(type(count) == 'string' and tonumber(count) or 0, 1000) do
        local timeout = timeout_of(base, owner, nth)
        local ttl = left_of(name, timeout)
        longest = math.max(longest, ttl == -1 and math.huge or ttl)
        if ttl >= 0 and ttl < lease then
            redis.call('pexpire', timeout, ARGV[3 * i - 1])
        end
    end
    before[i] = -2
    if longest ~= -2 then
        local ttl = redis.call('pttl', name)
        if lease > 0 and ttl < lease then
            redis.call('pexpire', name, ARGV[3 * i - 1])
        end
        before[i] = (ttl == -1 or longest < ttl) and longest < math.huge and longest or ttl
    end
end
return before
