/* The entries of commands about several names.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENTRIES_H
#define ENTRIES_H

#include "engine.h"

struct hold *member_hold(const struct set_member *member, uint64_t owner);
void entry_add(struct command *command, const struct set_member *member, struct hold *hold);
struct entry *entry_of(const struct command *command, const struct hold *hold); /* NULL: it has none */
void command_forget(struct command *command, const struct hold *hold);          /* `hold` is being forgotten */
bool command_has_hold(const struct command *command);
void renewal_forget(struct hold *hold);
void renewal_expire(struct engine *engine, struct hold *hold);

#endif
