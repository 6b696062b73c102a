-- extend_plain: the lease of a plain lock ends the given time from now, sooner or later than before
-- (compare-and-extend).
-- KEYS[1] key   ARGV[1] owner   ARGV[2] lease in ms
-- Returns 1, or 0 when the owner does not hold the lock.
-- As extend, the only one that may shorten a lease; the caller sends it when nothing else of this hold is under way.
-- SPDX-License-Identifier: Apache-2.0
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call('pexpire', KEYS[1], ARGV[2])
return 1
