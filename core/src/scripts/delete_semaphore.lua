-- delete_semaphore: there is no semaphore any more. Waiters go on waiting for permits, as those of RSemaphore do.
-- KEYS[1] name
-- Returns 1 when there was one, else 0. get makes a key of another type an error before anything is deleted.
-- SPDX-License-Identifier: Apache-2.0
redis.call('get', KEYS[1])
return redis.call('del', KEYS[1])
