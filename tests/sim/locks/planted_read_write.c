/* Mistakes in the scripts of read-write locks: a part of a script, and what somebody might have written instead.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "planted_edits.h"
#include "redlatch.h"

const struct planted_edit planted_sides[] = {
    {"read beside a stranger who writes", SCRIPT_ACQUIRE_READ, REDLATCH_READ, "elseif mode == 'write' then",
     "elseif mode == 'none' then"},
    {"read without a timeout key", SCRIPT_ACQUIRE_READ, REDLATCH_READ,
     "if not redis.call('set', timeout, '1', 'px', ARGV[2], 'nx') then", "if false then"},
    {"read that leaves the lock's lease", SCRIPT_ACQUIRE_READ, REDLATCH_READ, "if ttl < lease then", "if ttl < 0 then"},
    {"write beside readers", SCRIPT_ACQUIRE_WRITE, REDLATCH_READ, "elseif mode == 'write' then\n    return ttl",
     "elseif mode == 'read' then\n    redis.call('hset', KEYS[1], 'mode', 'write', ARGV[1], 1)\n    return nil"},
    {"write that strikes out living readers", SCRIPT_ACQUIRE_WRITE, REDLATCH_READ, "best == -2 and tonumber(levels)",
     "tonumber(levels)"},
    {"write acquired again adds leases (W-13)", SCRIPT_ACQUIRE_WRITE, REDLATCH_READ,
     "if ttl < tonumber(ARGV[2]) then\n        redis.call('pexpire', KEYS[1], ARGV[2])",
     "if true then\n        redis.call('pexpire', KEYS[1], 1)"},
    {"last read leaves the lock", SCRIPT_RELEASE_READ, REDLATCH_READ, "if longest == -2 then", "if longest == -3 then"},
    {"last read tells nobody", SCRIPT_RELEASE_READ, REDLATCH_READ, "redis.call('publish', ARGV[3], '0')", "0"},
    {"read release takes the lock from others", SCRIPT_RELEASE_READ, REDLATCH_READ, "if longest == -2 then",
     "if true then"},
    {"read release leaves a timeout key", SCRIPT_RELEASE_READ, REDLATCH_READ,
     "redis.call('del', timeout_of(base, owner, nth))", ""},
    {"read release leaves the lock's lease", SCRIPT_RELEASE_READ, REDLATCH_READ,
     "redis.call('pexpire', name, math.max(longest, 1))", ""},
    {"read release strikes out living readers", SCRIPT_RELEASE_READ, REDLATCH_READ,
     "best)\n        if best == -2 and tonumber(levels) then", "best)\n        if tonumber(levels) then"},
    {"read release looks at the youngest only", SCRIPT_RELEASE_READ, REDLATCH_READ,
     "if longest ~= -2 and longest >= ttl - NEAR then", "if true then"},
    {"read release shortens the writer's lease (W-12)", SCRIPT_RELEASE_READ, REDLATCH_READ,
     "elseif redis.call('hget', name, 'mode') == 'write' or",
     "elseif redis.call('hget', name, 'mode') == 'write' and redis.call('pexpire', name, 5) == 1 or"},
    {"partial read release drops the longer lease", SCRIPT_RELEASE_READ, REDLATCH_READ, "and mine > 0\n",
     "and false\n"},
    {"read release without a look at the own field", SCRIPT_RELEASE_READ, REDLATCH_READ,
     "if not count then\n"
     "    return 0\n"
     "else",
     "if not count then\n"
     "    redis.call('del', KEYS[1])\n"
     "    return 0\n"
     "else"},
    {"downgrade that tells nobody (W-11)", SCRIPT_RELEASE_WRITE, REDLATCH_READ,
     "return 1 + redis.call('publish', ARGV[3], '1')", "return 1"},
    {"downgrade that leaves write mode", SCRIPT_RELEASE_WRITE, REDLATCH_READ,
     "redis.call('hset', name, 'mode', 'read')", ""},
    {"downgrade that takes the reads along", SCRIPT_RELEASE_WRITE, REDLATCH_READ, "if longest == -2 then",
     "if true then"},
    {"downgrade that leaves the writer's lease", SCRIPT_RELEASE_WRITE, REDLATCH_READ, "if longest >= 0 then",
     "if false then"},
    {"read level without a timeout key", SCRIPT_REENTER_READ, REDLATCH_READ,
     "for nth = math.min(count + 1, wanted, 1000), math.min(wanted, 1000) do", "for nth = 1, 0 do"},
    {"read re-entry that makes a lock", SCRIPT_REENTER_READ, REDLATCH_READ,
     "if longest_of(KEYS[1], ARGV[4], ARGV[1], 1, count) == -2 then\n"
     "    return 0\n"
     "end",
     "if longest_of(KEYS[1], ARGV[4], ARGV[1], 1, count) == -2 then\n"
     "    redis.call('hset', KEYS[1], ARGV[1], 1)\n"
     "end"},
    {"read renewal of the lock alone", SCRIPT_RENEW_READ, REDLATCH_READ, "if ttl >= 0 and ttl < lease then",
     "if false then"},
    {"read renewal of the timeout keys alone", SCRIPT_RENEW_READ, REDLATCH_READ, "if lease > 0 and ttl < lease then",
     "if false then"},
    {"read extension that leaves other levels", SCRIPT_EXTEND_READ, REDLATCH_READ,
     "redis.call('pexpire', timeout_of(base, to, nth), ARGV[4])",
     "if nth == 1 and tonumber(count) == 1 then redis.call('pexpire', timeout_of(base, to, nth), ARGV[4]) end"},
    {"read extension that shortens for all", SCRIPT_EXTEND_READ, REDLATCH_READ,
     "ends = stays and ttl or math.max(lease, (longest_of_all(KEYS[1], base, from, to)))", "ends = lease"},
    {"write extension that shortens the own reads", SCRIPT_EXTEND_WRITE, REDLATCH_READ,
     "math.max(tonumber(ARGV[4]), longest)", "ARGV[4]"},
    {"hand-over while the old owner reads", SCRIPT_HAND_OVER_WRITE, REDLATCH_READ,
     "if redis.call('hlen', KEYS[1]) > 2 then", "if false then"},
    {"force release of either side", SCRIPT_FORCE_RELEASE_READ_WRITE, REDLATCH_READ, "if mode ~= ARGV[1] then",
     "if redis.call('hlen', KEYS[1]) == 0 then"},
    {NULL, SCRIPT_COUNT, 0, NULL, NULL},
};
