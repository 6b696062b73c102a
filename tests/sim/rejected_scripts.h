/* An access rule refuses one command of a script: the keys must be as if the script had not run. The client that gets
 * the error reply relies on that.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REJECTED_SCRIPTS_H
#define REJECTED_SCRIPTS_H

#include <stdbool.h>

#include "script_set.h"

/* The commands that scripts write with. */
extern const char *const writing_commands[];
extern const size_t writing_command_count;

/* Runs a script on a copy of the keys, for a user who may not use a command; whether it was refused and yet changed
 * something. */
bool refused_script_writes(struct script_set *set, enum script_id script, const struct keyspace *keyspace,
                           const struct redis_text *texts, size_t key_count, size_t argument_count,
                           const char *command);

#endif
