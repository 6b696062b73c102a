/* Faults of the read-write lock's scripts, each a change of one place.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANTED_SIDES_H
#define PLANTED_SIDES_H

#include "scripts_embedded.h"

struct planted_change {
    const char *name; /* of the fault */
    enum script_id script;
    const char *from; /* stands in the script */
    const char *to;
};

/* Ends with an entry whose name is NULL. */
extern const struct planted_change planted_sides[];

/* The script with the change, to be freed; NULL when it does not have that place any more. */
char *planted_text(const struct planted_change *change);

#endif
