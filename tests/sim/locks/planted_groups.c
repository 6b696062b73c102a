/* Mistakes in the scripts of group locks: a part of a script, and what somebody might have written instead.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "planted_edits.h"
#include "redlatch.h"

const struct planted_edit planted_groups[] = {
    {"a group granted by its first value", SCRIPT_ACQUIRE_GROUP, REDLATCH_GROUP,
     "for i = first, last do\n"
     "        local other",
     "for i = first, first do\n"
     "        local other"},
    {"a group granted as far as its values are free", SCRIPT_ACQUIRE_GROUP, REDLATCH_GROUP,
     "for i = first, last do\n"
     "        local own",
     "for i = first, last - 1 do\n"
     "        local own"},
    {"a repeat of an acquire adds a level", SCRIPT_ACQUIRE_GROUP, REDLATCH_GROUP,
     "if had < tonumber(count) then\n"
     "            redis.call('hset', group, own .. ':lock_count', count)",
     "if true then\n"
     "            redis.call('hincrby', group, own .. ':lock_count', 1)"},
    {"what an earlier owner left stays (W-20)", SCRIPT_ACQUIRE_GROUP, REDLATCH_GROUP,
     "redis.call('hdel', group, left .. ':expire_time', left .. ':lock_count')", ""},
    {"a group that ends before a hold of it", SCRIPT_ACQUIRE_GROUP, REDLATCH_GROUP,
     "if ttl ~= -1 and ttl < tonumber(lease) then", "if ttl == -2 then"},
    {"a group without a lease", SCRIPT_ACQUIRE_GROUP, REDLATCH_GROUP, "if ttl ~= -1 and ttl < tonumber(lease) then",
     "if ttl > 0 and ttl < tonumber(lease) then"},
    {"release of values whoever holds them", SCRIPT_RELEASE_GROUP, REDLATCH_GROUP,
     "if redis.call('hget', group, ARGV[i]) == owner then", "if true then"},
    {"release of a group tells nobody", SCRIPT_RELEASE_GROUP, REDLATCH_GROUP,
     "freed and redis.call('publish', ARGV[3], '0') or 0", "0"},
    {"release of a group leaves counts", SCRIPT_RELEASE_GROUP, REDLATCH_GROUP,
     "redis.call('hdel', group, own .. ':expire_time', own .. ':lock_count')",
     "redis.call('hdel', group, own .. ':expire_time')"},
    {"partial release that takes a level off", SCRIPT_RELEASE_GROUP, REDLATCH_GROUP,
     "lower(group, own .. ':lock_count', left)", "redis.call('hincrby', group, own .. ':lock_count', -1)"},
    {"renewal of what is over", SCRIPT_RENEW_GROUP, REDLATCH_GROUP, "~= owner or ends <= now then", "~= owner then"},
    {"renewal that leaves the last value", SCRIPT_RENEW_GROUP, REDLATCH_GROUP,
     "for i = first, last do\n            local field", "for i = first, last - 1 do\n            local field"},
    {"renewal of the values alone", SCRIPT_RENEW_GROUP, REDLATCH_GROUP, "if ttl >= 0 and ttl < tonumber(lease) then",
     "if false then"},
    {"renewal of a group that shortens", SCRIPT_RENEW_GROUP, REDLATCH_GROUP, "< now + lease then", "~= 0 then"},
    {"re-entry of a group that adds", SCRIPT_REENTER_GROUP, REDLATCH_GROUP,
     "redis.call('hset', KEYS[1], own .. ':lock_count', higher and ARGV[2] or count)",
     "redis.call('hincrby', KEYS[1], own .. ':lock_count', 1)"},
    {"re-entry of a group that takes it", SCRIPT_REENTER_GROUP, REDLATCH_GROUP,
     "if not held_until(redis.call, KEYS[1], ARGV[1], 5, #ARGV) then\n"
     "    return 0\n"
     "end",
     "if not held_until(redis.call, KEYS[1], ARGV[1], 5, #ARGV) then\n"
     "    for i = 5, #ARGV do\n"
     "        redis.call('hset', KEYS[1], ARGV[i], ARGV[1], ARGV[i] .. ':' .. ARGV[1] .. ':expire_time', 0)\n"
     "    end\n"
     "end"},
    {"extension that ends the group for all", SCRIPT_EXTEND_GROUP, REDLATCH_GROUP,
     "if ttl >= 0 and ttl < tonumber(lease) then", "if true then"},
    {"extension of one value", SCRIPT_EXTEND_GROUP, REDLATCH_GROUP, "for i = 4, #ARGV do\n    local ends = string",
     "for i = 4, 4 do\n    local ends = string"},
    {"hand-over of a group out of nothing", SCRIPT_HAND_OVER_GROUP, REDLATCH_GROUP,
     "    return held_until(redis.call, KEYS[1], ARGV[2], 6, #ARGV) and 1 or 0\n", ""},
    {"hand-over that leaves the old owner's fields", SCRIPT_HAND_OVER_GROUP, REDLATCH_GROUP,
     "redis.call('hdel', KEYS[1], from .. ':expire_time', from .. ':lock_count')", ""},
    {"force release of the whole group", SCRIPT_FORCE_RELEASE_GROUP, REDLATCH_GROUP,
     "redis.call('hdel', KEYS[1], ARGV[i], own .. ':expire_time', own .. ':lock_count')", "redis.call('del', KEYS[1])"},
    {"force release of a group tells nobody", SCRIPT_FORCE_RELEASE_GROUP, REDLATCH_GROUP,
     "redis.call('publish', ARGV[1], '0')", ""},
    {NULL, SCRIPT_COUNT, 0, NULL, NULL},
};
