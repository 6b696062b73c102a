-- delete_permits: there is no permit semaphore any more, and no lease of its permits. Waiters go on waiting.
-- KEYS[1] name   KEYS[2] leases
-- Returns 1 when there was one, else 0. Reads make keys of another type an error before anything is deleted.
-- SPDX-License-Identifier: Apache-2.0
redis.call('get', KEYS[1])
redis.call('zcard', KEYS[2])
return redis.call('del', KEYS[1], KEYS[2]) > 0 and 1 or 0
