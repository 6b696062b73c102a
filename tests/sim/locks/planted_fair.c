/* Mistakes in the scripts of fair locks: a part of a script, and what somebody might have written instead.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "planted_edits.h"
#include "redlatch.h"

const struct planted_edit planted_fair[] = {
    {"a look that makes a place", SCRIPT_ACQUIRE_FAIR, REDLATCH_FAIR, "elseif position == '1' then",
     "elseif position ~= '0' then"},
    {"a try that takes a place", SCRIPT_ACQUIRE_FAIR, REDLATCH_FAIR, "elseif position == '1' then",
     "elseif position ~= '2' then"},
    {"a grant past the queue", SCRIPT_ACQUIRE_FAIR, REDLATCH_FAIR, "(head == owner", "(true"},
    {"a place before the others", SCRIPT_ACQUIRE_FAIR, REDLATCH_FAIR, "'rpush'", "'lpush'"},
    {"a queue position without a heartbeat", SCRIPT_ACQUIRE_FAIR, REDLATCH_FAIR,
     "queue, owner)\n    redis.call('set', sign, '1', 'px', ARGV[5])", "queue, owner)"},
    {"a release that calls nobody", SCRIPT_RELEASE_FAIR, REDLATCH_FAIR,
     "receivers = call_head(tonumber(ARGV[4]), ARGV[5], head, score)", "receivers = 0"},
    {"a leave that keeps the place", SCRIPT_RELEASE_FAIR, REDLATCH_FAIR, "ARGV[3] == '1'", "ARGV[3] == '2'"},
    {"a hand-over to whom it pleases", SCRIPT_HAND_OVER_FAIR, REDLATCH_FAIR, "if head == ARGV[2] then", "if true then"},
    {"a hand-over that leaves the place", SCRIPT_HAND_OVER_FAIR, REDLATCH_FAIR,
     "redis.call('lpop', queue)\n        redis.call('zrem', timeouts, ARGV[2])\n        if last then", "if last then"},
    {NULL, SCRIPT_COUNT, 0, NULL, NULL},
};
