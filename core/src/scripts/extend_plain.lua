-- extend_plain: sets the TTL of the owner's plain lock to the lease, also if that is shorter (compare-and-extend).
-- KEYS[1] key   ARGV[1] owner   ARGV[2] lease in ms
-- Returns 1, or 0 if the owner does not hold the lock.
-- Because it may shorten the lease, the caller sends it only while no other command of the hold is unanswered.
-- SPDX-License-Identifier: Apache-2.0
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call('pexpire', KEYS[1], ARGV[2])
return 1
