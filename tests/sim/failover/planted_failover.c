/* Mistakes in scripts that the simulation of failovers finds by comparing servers: group locks that are held in part,
 * leases and hold counts that do not last, and numbers that are changed twice.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "planted_edits.h"
#include "redlatch.h"

const struct planted_edit planted_failover[] = {
    {"a group granted as far as its values are free", SCRIPT_ACQUIRE_GROUP, REDLATCH_GROUP,
     "for i = first, last do\n"
     "        local own",
     "for i = first, last - 1 do\n"
     "        local own"},
    {"renewal that leaves the last value", SCRIPT_RENEW_GROUP, REDLATCH_GROUP,
     "for i = first, last do\n            local field", "for i = first, last - 1 do\n            local field"},
    {"re-entry of the first value", SCRIPT_REENTER_GROUP, REDLATCH_GROUP, "for i = 5, #ARGV do\n    local own",
     "for i = 5, 5 do\n    local own"},
    {"extension of one value", SCRIPT_EXTEND_GROUP, REDLATCH_GROUP, "for i = 4, #ARGV do\n    local ends = string",
     "for i = 4, 4 do\n    local ends = string"},
    {"a group that ends before a hold of it", SCRIPT_ACQUIRE_GROUP, REDLATCH_GROUP,
     "if ttl ~= -1 and ttl < tonumber(lease) then", "if ttl == -2 then"},
    {"acquire forgets what it recorded", SCRIPT_ACQUIRE_SEMAPHORE, REDLATCH_SEMAPHORE, "if recorded then",
     "if false then"},
    {"release forgets what it recorded", SCRIPT_RELEASE_SEMAPHORE, REDLATCH_SEMAPHORE, "if recorded then",
     "if false then"},
    {"undo leaves no mark", SCRIPT_UNDO_TAKEN, REDLATCH_SEMAPHORE, "record(KEYS[2], 'undone')", ""},
    {"count-down forgets what it recorded", SCRIPT_COUNT_DOWN, REDLATCH_LATCH, "if recorded then", "if false then"},
    {"a set latch is set again", SCRIPT_TRY_SET_COUNT, REDLATCH_LATCH, "if recorded then", "if false then"},
    {"count-down tells nobody", SCRIPT_COUNT_DOWN, REDLATCH_LATCH, "if left == 0 then", "if left == -5 then"},
    {NULL, SCRIPT_COUNT, 0, NULL, NULL},
};
