-- allowed: a script asks for what it writes with after its first write before that, so that one that is refused a
-- command has changed nothing. Servers before Redis 7 can not tell: there an error reply may come in the middle.
-- A message is not asked for: that it is refused is no reason to keep a lock.
-- SPDX-License-Identifier: Apache-2.0

-- Whether the user may run a command on a key. Redis 8 wants as many words as the command takes: four do for all that
-- scripts write with but for those named here, which take exactly two or three.
local function may_run(command, key)
    if command == 'incr' or command == 'persist' then
        return redis.acl_check_cmd(command, key)
    elseif command == 'incrby' or command == 'decrby' then
        return redis.acl_check_cmd(command, key, 1)
    end
    return redis.acl_check_cmd(command, key, key, key)
end

-- The error reply for a user who may not run one of the commands on a key; else nil.
local function missing_permission(key, ...)
    for i = 1, redis.acl_check_cmd and select('#', ...) or 0 do
        local command = select(i, ...)
        if not may_run(command, key) then
            return redis.error_reply("NOPERM this user has no permissions to run '" .. command .. "' on a key")
        end
    end
end
