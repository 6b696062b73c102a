/* Mistakes that the simulation plants in the simulated server's scripts, one at a time, to show that it finds them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANTED_EDITS_H
#define PLANTED_EDITS_H

#include <stdint.h>

#include "scripts_embedded.h"

struct planted_edit {
    const char *name; /* of the mistake */
    enum script_id script;
    int kind; /* the seeds of this kind are to find it (world_common.h) */
    const char *part;
    const char *instead; /* the text that replaces `part`; NULL: `part` replaces the whole script */
};

/* The tables. Each ends with an entry whose name is NULL. */
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
