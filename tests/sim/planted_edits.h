/* Mistakes that the simulation plants in its own server's scripts, one at a time, to show that it would find them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANTED_EDITS_H
#define PLANTED_EDITS_H

#include <stdint.h>

#include "scripts_embedded.h"

struct planted_edit {
    const char *name; /* of the mistake */
    enum script_id script;
    int kind; /* whose seeds are to find it (sim_kinds.h) */
    const char *part;
    const char *instead; /* what stands in place of the part; NULL: the part stands in place of the whole script */
};

/* The tables, each of which ends with an entry whose name is NULL. */
extern const struct planted_edit planted_scripts[];
extern const struct planted_edit planted_sets[];
extern const struct planted_edit planted_fair[];
extern const struct planted_edit planted_sides[];
extern const struct planted_edit planted_groups[];
extern const struct planted_edit planted_member_types[];
extern const struct planted_edit planted_counts[];
extern const struct planted_edit planted_failover[];
extern const struct planted_edit planted_cluster[];
extern const struct planted_edit planted_composites[];

#endif
