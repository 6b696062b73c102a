-- force_release_plain: frees a plain lock, whoever holds it, and notifies subscribers.
-- KEYS[1] key   ARGV[1] channel
-- Returns 1 if there was a lock, else 0. GET makes a key of another type an error before anything is deleted.
-- A string without a TTL is an error, too, unless its value is of the form that redis-py or python-redis-lock writes.
-- Their locks have no TTL by default, and nothing else frees the locks of their dead processes.
-- SPDX-License-Identifier: Apache-2.0
local token = redis.call('get', KEYS[1])
if not token then
    return 0
end
local is_uuid1 = #token == 32 and string.find(token, '^%x+$') and string.find(token, '^1%x%x%x[89ab]', 13)
local is_random = #token == 24 and string.find(token, '^[%w+/]+$')
if redis.call('pttl', KEYS[1]) == -1 and not (is_uuid1 or is_random) then
    return redis.error_reply('WRONGTYPE the key has no TTL, which a lock has')
end
redis.call('del', KEYS[1])
redis.call('publish', ARGV[1], '0')
return 1
