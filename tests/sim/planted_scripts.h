/* Script faults that the simulation plants in its own server, one at a time, to show that it would find them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANTED_SCRIPTS_H
#define PLANTED_SCRIPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "scripts_embedded.h"

struct planted_script {
    const char *name; /* of the fault */
    enum script_id script;
    const char *text;
    uint8_t lock_kind; /* 0: a mutex */
    bool sets;         /* of several names at once */
};

/* Ends with an entry whose name is NULL. */
extern const struct planted_script planted_scripts[];

#endif
