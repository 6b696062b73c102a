-- prolong_group: the TTL of a group (wire format 2.9).
-- SPDX-License-Identifier: Apache-2.0
-- Raises the TTL to the lease of a value. A group without a TTL keeps none.
local function prolong_group(group, lease)
    local ttl = redis.call('pttl', group)
    if ttl >= 0 and ttl < tonumber(lease) then
        redis.call('pexpire', group, lease)
    end
end
