/* Mistakes in scripts that slots which migrate show: a node refuses a key that the script itself has deleted.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "planted_edits.h"
#include "redlatch.h"

const struct planted_edit planted_cluster[] = {
    {"a release looks for the lock that it deleted", SCRIPT_RELEASE_FAIR, REDLATCH_FAIR, "if fields == held then",
     "if redis.call('exists', KEYS[1]) == 0 then"},
    {NULL, SCRIPT_COUNT, 0, NULL, NULL},
};
