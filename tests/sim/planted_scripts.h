/* Script faults that the simulation plants in its own server, one at a time, to show that it would find them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANTED_SCRIPTS_H
#define PLANTED_SCRIPTS_H

#include <stdint.h>

#include "scripts_embedded.h"

struct planted_script {
    const char *name; /* of the fault */
    enum script_id script;
    int lock_kind;
    const char *text;
};

/* Of single names, and of several at once; each ends with an entry whose name is NULL. */
extern const struct planted_script planted_scripts[];
extern const struct planted_script planted_sets[];

/* A part of a script, and what stands there instead. */
struct planted_edit {
    const char *name; /* of the fault */
    enum script_id script;
    int lock_kind;
    const char *part;
    const char *instead;
};

/* Of fair locks, read-write locks, groups, and members of sets; each ends with an entry whose name is NULL. */
extern const struct planted_edit planted_fair[];
extern const struct planted_edit planted_sides[];
extern const struct planted_edit planted_groups[];
extern const struct planted_edit planted_member_types[];

#endif
