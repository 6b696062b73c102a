-- query_read_write: returns who holds a read-write lock in one mode, how often and for how long; writes nothing.
-- Begins with shared/read_write_hash.lua.
-- KEYS[1] name   ARGV[1] mode: read or write
-- Returns an empty array if nobody does; else remaining ms (-1: no TTL), owner, count, number of holders. Of several
-- readers it returns one. A writer who also reads holds the lock in both modes. A hash that is no read-write lock is an
-- error.
-- SPDX-License-Identifier: Apache-2.0
local mode = redis.call('hget', KEYS[1], 'mode')
if mode ~= 'read' and mode ~= 'write' then
    return redis.call('pttl', KEYS[1]) == -2 and {} or wrong_read_write()
elseif not is_read_write(KEYS[1]) then
    return wrong_read_write()
end
local holders = redis.call('hlen', KEYS[1]) - (mode == 'write' and 2 or 1)
if ARGV[1] == 'write' then
    holders = mode == 'write' and 1 or 0
end
if holders < 1 then
    return {}
end
local fields = redis.call('hgetall', KEYS[1])
for i = 1, #fields, 2 do
    local field, count = fields[i], fields[i + 1]
    local writer = string.match(field, '^(.*):write$')
    if field ~= 'mode' and string.find(count, '^%d+$') and (writer ~= nil) == (ARGV[1] == 'write') then
        return {redis.call('pttl', KEYS[1]), writer or field, count, holders}
    end
end
return wrong_read_write()
