-- allowed: a script asks for what it writes with after its first write before that, so that one that is refused a
-- command has changed nothing. Servers before Redis 7 can not tell: there an error reply may come in the middle.
-- A message is not asked for: that it is refused is no reason to keep a lock.
-- SPDX-License-Identifier: Apache-2.0

-- The error reply for a user who may not run one of the commands on a key; else nil.
local function missing_permission(key, ...)
    local may = redis.acl_check_cmd
    for i = 1, may and select('#', ...) or 0 do
        local command = select(i, ...)
        if not may(command, key) then
            return redis.error_reply("NOPERM this user has no permissions to run '" .. command .. "' on a key")
        end
    end
end
