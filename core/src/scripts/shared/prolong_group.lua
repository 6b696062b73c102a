-- prolong_group: how long a group lasts (wire format 2.9).
-- SPDX-License-Identifier: Apache-2.0
-- As long as the lease of any value; a group without a lease stays so.
local function prolong_group(group, lease)
    local ttl = redis.call('pttl', group)
    if ttl >= 0 and ttl < tonumber(lease) then
        redis.call('pexpire', group, lease)
    end
end
