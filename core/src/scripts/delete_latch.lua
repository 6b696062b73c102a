-- delete_latch: there is no latch any more, and listeners are told as RCountDownLatch's delete does (wire format 2.12).
-- KEYS[1] name   ARGV[1] channel
-- Returns 1 when there was one, else 0. get makes a key of another type an error before anything is deleted.
-- SPDX-License-Identifier: Apache-2.0
redis.call('get', KEYS[1])
if redis.call('del', KEYS[1]) == 0 then
    return 0
end
redis.call('publish', ARGV[1], '1')
return 1
