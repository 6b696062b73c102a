-- query_plain: returns who holds a plain lock and for how long; writes nothing.
-- KEYS[1] key
-- Returns an empty array if it is free; else remaining ms (-1: no TTL), owner, and 1, as there are no levels. Of an
-- owner it returns the first 127 bytes: the string of another program may be longer than a reply may be.
-- SPDX-License-Identifier: Apache-2.0
local holder = redis.call('get', KEYS[1])
if not holder then
    return {}
end
return {redis.call('pttl', KEYS[1]), string.sub(holder, 1, 127), '1'}
