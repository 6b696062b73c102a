-- force_release_plain: a plain lock is free, whoever held it, and those who listen are told.
-- KEYS[1] key   ARGV[1] channel
-- Returns 1 when there was a lock, else 0. get makes a key of another type an error before anything is deleted.
-- SPDX-License-Identifier: Apache-2.0
if not redis.call('get', KEYS[1]) then
    return 0
end
redis.call('del', KEYS[1])
redis.call('publish', ARGV[1], '0')
return 1
