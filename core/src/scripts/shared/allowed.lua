-- allowed: before its first write, a script checks the permissions for the writes that follow the first. So a script
-- that is refused a command has changed nothing. Servers before Redis 7 have no such check: there an error reply may
-- come after some writes. PUBLISH is not checked, because a refused message is no reason to keep a lock.
-- SPDX-License-Identifier: Apache-2.0

-- Returns whether the user may run a command on a key. Redis 8 checks the number of arguments, the command included:
-- four fit all commands that scripts write with, except those named here, which take exactly two or three.
local function may_run(command, key)
    if command == 'incr' or command == 'persist' then
        return redis.acl_check_cmd(command, key)
    elseif command == 'incrby' or command == 'decrby' then
        return redis.acl_check_cmd(command, key, 1)
    end
    return redis.acl_check_cmd(command, key, key, key)
end

-- Returns the error reply for a user who may not run one of the commands on a key, else nil.
local function missing_permission(key, ...)
    for i = 1, redis.acl_check_cmd and select('#', ...) or 0 do
        local command = select(i, ...)
        if not may_run(command, key) then
            return redis.error_reply("NOPERM this user has no permissions to run '" .. command .. "' on a key")
        end
    end
end
