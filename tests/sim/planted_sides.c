/* The table of changes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "planted_sides.h"

#include <stdio.h>
#include <string.h>

#include "redis_text.h"

const struct planted_change planted_sides[] = {
    {"read beside a stranger who writes", SCRIPT_ACQUIRE_READ, "if mode == 'write' and", "if mode == 'none' and"},
    {"read without a timeout key", SCRIPT_ACQUIRE_READ, "redis.call('set', timeout, '1', 'px', ARGV[2])", ""},
    {"read that leaves the lock's lease", SCRIPT_ACQUIRE_READ, "if ttl < lease then", "if ttl < 0 then"},
    {"write beside readers", SCRIPT_ACQUIRE_WRITE, "if mode == 'write' then\n    return ttl",
     "if mode == 'read' then\n    redis.call('hset', KEYS[1], 'mode', 'write', ARGV[1], 1)\n    return nil"},
    {"write that strikes out living readers", SCRIPT_ACQUIRE_WRITE, "best == -2 and fields[i] ~= 'mode'",
     "fields[i] ~= 'mode'"},
    {"write acquired again adds leases (W-13)", SCRIPT_ACQUIRE_WRITE,
     "if ttl < tonumber(ARGV[2]) then\n        redis.call('pexpire', KEYS[1], ARGV[2])",
     "if true then\n        redis.call('pexpire', KEYS[1], 1)"},
    {"last read leaves the lock", SCRIPT_RELEASE_READ, "if longest == -2 then", "if longest == -3 then"},
    {"last read tells nobody", SCRIPT_RELEASE_READ, "1 + redis.call('publish', ARGV[3], '0')", "1"},
    {"read release takes the lock from others", SCRIPT_RELEASE_READ, "if longest == -2 then", "if true then"},
    {"read release leaves a timeout key", SCRIPT_RELEASE_READ, "redis.call('del', timeout_of(ARGV[1], level))", ""},
    {"read release leaves the lock's lease", SCRIPT_RELEASE_READ, "if longest >= 0 and longest < ttl then",
     "if false then"},
    {"read release shortens the writer's lease (W-12)", SCRIPT_RELEASE_READ,
     "or redis.call('hget', KEYS[1], 'mode') == 'write' or",
     "or redis.call('hget', KEYS[1], 'mode') == 'write' and redis.call('pexpire', KEYS[1], 5) == 1 or"},
    {"partial read release drops the longer lease", SCRIPT_RELEASE_READ, "and mine > 0 then", "and false then"},
    {"read release without a look at the own field", SCRIPT_RELEASE_READ, "if not count then\n    return 0\nend",
     "if not count then\n    redis.call('del', KEYS[1])\n    return 0\nend"},
    {"downgrade that tells nobody (W-11)", SCRIPT_RELEASE_WRITE, "return 1 + redis.call('publish', ARGV[3], '1')",
     "return 1"},
    {"downgrade that leaves write mode", SCRIPT_RELEASE_WRITE, "redis.call('hset', KEYS[1], 'mode', 'read')", ""},
    {"downgrade that takes the reads along", SCRIPT_RELEASE_WRITE, "if longest == -2 then", "if true then"},
    {"downgrade that leaves the writer's lease", SCRIPT_RELEASE_WRITE, "if longest >= 0 then", "if false then"},
    {"read level without a timeout key", SCRIPT_REENTER_READ,
     "for level = math.min(count + 1, wanted), wanted do", "for level = 1, 0 do"},
    {"read re-entry that makes a lock", SCRIPT_REENTER_READ, "if longest == -2 then\n    return 0\nend",
     "if longest == -2 then\n    redis.call('hset', KEYS[1], ARGV[1], 1)\nend"},
    {"read renewal of the lock alone", SCRIPT_RENEW_READ, "if ttl >= 0 and ttl < lease then", "if false then"},
    {"read renewal of the timeout keys alone", SCRIPT_RENEW_READ, "if alive and lease > 0 and before[i] < lease then",
     "if false then"},
    {"read extension that leaves other levels", SCRIPT_EXTEND_READ,
     "redis.call('pexpire', timeout_of(to, level), ARGV[4])", "if level == 1 and tonumber(count) == 1 then "
     "redis.call('pexpire', timeout_of(to, level), ARGV[4]) end"},
    {"read extension that shortens for all", SCRIPT_EXTEND_READ, "local longest = lease\n",
     "local longest = lease; redis.call('pexpire', KEYS[1], ARGV[4]); ttl = 0\n"},
    {"write extension that shortens the own reads", SCRIPT_EXTEND_WRITE, "redis.call('pexpire', KEYS[1], longest)",
     "redis.call('pexpire', KEYS[1], ARGV[4])"},
    {"hand-over while the old owner reads", SCRIPT_HAND_OVER_WRITE, "if redis.call('hlen', KEYS[1]) > 2 then",
     "if false then"},
    {"force release of either side", SCRIPT_FORCE_RELEASE_SIDE,
     "if redis.call('hget', KEYS[1], 'mode') ~= ARGV[1] then", "if redis.call('hlen', KEYS[1]) == 0 then"},
    {NULL, SCRIPT_COUNT, NULL, NULL},
};

char *planted_text(const struct planted_change *change) {
    const char *text = scripts_embedded[change->script].text;
    const char *at = strstr(text, change->from);
    if (!at) {
        return NULL;
    }
    size_t room = strlen(text) + strlen(change->to) + 1;
    char *changed = allocate(room, 1);
    snprintf(changed, room, "%.*s%s%s", (int)(at - text), text, change->to, at + strlen(change->from));
    return changed;
}
