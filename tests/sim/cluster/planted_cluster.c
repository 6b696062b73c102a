/* Mistakes in scripts that a world with a cluster finds, while the keys of a name are on two nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "planted_edits.h"
#include "redlatch.h"

const struct planted_edit planted_cluster[] = {
    {"a timeout key that has not arrived is absent", SCRIPT_RELEASE_READ, REDLATCH_READ, "if ttl == -2 then",
     "if false then"},
    {"readers whose timeout keys have not arrived are dead", SCRIPT_ACQUIRE_WRITE, REDLATCH_READ, "if ttl == -2 then",
     "if false then"},
    {NULL, SCRIPT_COUNT, 0, NULL, NULL},
};
