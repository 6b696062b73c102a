-- query_group: whether any of the values is held, by whom, how often and for how long; writes nothing.
-- KEYS[1] group   ARGV[1] number of values   ARGV[2...] values
-- Returns an empty array when all are free; else remaining ms until all are, owner and count of the one that is longest.
-- SPDX-License-Identifier: Apache-2.0
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local longest, holder, count = now, nil, nil
for i = 2, #ARGV do
    local owner = redis.call('hget', KEYS[1], ARGV[i])
    local own = owner and ARGV[i] .. ':' .. owner
    local ends = own and tonumber(redis.call('hget', KEYS[1], own .. ':expire_time')) or 0
    if ends > longest then
        longest, holder, count = ends, owner, redis.call('hget', KEYS[1], own .. ':lock_count')
    end
end
if not holder then
    return {}
end
return {longest - now, holder, count or '0'}
