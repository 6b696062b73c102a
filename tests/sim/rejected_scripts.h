/* Runs a script for a user to whom an access rule forbids one command of it. The keys must then be as if the script had
 * not run, since the client that gets the error reply relies on that.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REJECTED_SCRIPTS_H
#define REJECTED_SCRIPTS_H

#include <stdbool.h>

#include "script_set.h"

/* The commands with which the scripts write. */
extern const char *const writing_commands[];
extern const size_t writing_command_count;

/* Runs a script on a copy of the keys for a user who may not use `command`. Returns whether the script was refused and
 * has changed something nevertheless. */
bool refused_script_writes(struct script_set *set, enum script_id script, const struct keyspace *keyspace,
                           const struct redis_text *texts, size_t key_count, size_t argument_count,
                           const char *command);

#endif
