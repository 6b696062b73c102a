-- release_many: each owner is left with the given number of levels of its lock; where that is none, the lock is free
-- and its waiters are told. Effects, message and channel on each name as the release of its kind (wire format 2.1).
-- KEYS names   ARGV for each: form, owner, levels left, channel. Forms: m a hash with one owner at a time.
-- Returns for each name 0 when the owner holds nothing there; else 1, plus the number of subscribers told.
-- May be sent twice: a repeat finds no field, or the count it left. A lease is never shortened.
-- All fields go before anybody is told, so a refused message leaves nothing held; a full release writes with hdel
-- alone, which a server that is out of memory still carries out. A key of another type counts as not held.
-- SPDX-License-Identifier: Apache-2.0
local found, refused = {}, nil
local pcall = redis.pcall

-- The answer of a command on a key that may be of another type by now; any other refusal is the script's, at its end.
local function checked(answer)
    if type(answer) == 'table' and answer.err then
        if not string.find(answer.err, 'WRONGTYPE', 1, true) then
            refused = refused or answer
        end
        return false
    end
    return answer
end

local function leave_hash(name, owner, left)
    if left == '0' then
        return checked(pcall('hdel', name, owner)) == 1
    end
    local levels = checked(pcall('hget', name, owner))
    if levels and tonumber(levels) > tonumber(left) then
        checked(pcall('hset', name, owner, left))
    end
    return levels and true
end

-- How a form leaves a line. A further form is a row here.
local forms = {m = leave_hash}

for i, name in ipairs(KEYS) do
    local argument = 4 * i - 3
    found[i] = forms[ARGV[argument]](name, ARGV[argument + 1], ARGV[argument + 2]) and 1 or 0
end
for i = 1, #KEYS do
    if found[i] == 1 and ARGV[4 * i - 1] == '0' then
        found[i] = 1 + (checked(pcall('publish', ARGV[4 * i], '0')) or 0)
    end
end
return refused or found
