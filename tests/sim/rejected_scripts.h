/* What a script leaves that an access rule refuses one of its commands: it must be as if it had not been run, so that
 * whoever is told of the error reply knows how things stand.
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
