-- permit_ids: the form of permit ids, for scripts of permit semaphores (wire format 2.11).
-- SPDX-License-Identifier: Apache-2.0
-- Returns whether a member of the leases is a permit: 16 bytes, or the 32 digits of Redisson before 3.17.
local function is_permit(id)
    return #id == 16 or (#id == 32 and string.find(id, '^%x+$'))
end

local function wrong_leases()
    return redis.error_reply('WRONGTYPE the key of the leases holds something else')
end
