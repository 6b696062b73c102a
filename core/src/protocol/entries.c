/* Commands about several holds: an entry for each, and what it has to do with the hold that it renews, raises or
 * lowers. Such a hold is busy with the command until that is settled, as with one of its own; renewals apart.
 * SPDX-License-Identifier: Apache-2.0 */
#include "entries.h"

/* The hold an owner has of a name of a set, as the kind of lock that it is there; NULL if none. */
struct hold *member_hold(const struct set_member *member, uint64_t owner) {
    return resource_hold_of(member->resource, member->lock_kind, owner);
}

/* The next line, about a member and the hold the owner has of it already, if any. Whoever adds it fills in the rest. */
void entry_add(struct command *command, const struct set_member *member, struct hold *hold) {
    struct entry *entry = &command->entries->entry[command->entry_count++];
    *entry = (struct entry){.hold = hold,
                            .name = resource_keep(member->resource),
                            .lock_kind = member->lock_kind,
                            .token_from_time = member->token_from_time,
                            .id = hold ? hold->id : 0};
    if (hold) {
        hold->busy = command;
    }
}

void command_forget(struct command *command, const struct hold *hold) {
    command->hold = command->hold == hold ? NULL : command->hold;
    for (uint32_t i = 0; i < command->entry_count; i++) {
        struct entry *entry = &command->entries->entry[i];
        entry->hold = entry->hold == hold ? NULL : entry->hold;
    }
}

bool command_has_hold(const struct command *command) {
    for (uint32_t i = 0; i < command->entry_count; i++) {
        if (command->entries->entry[i].hold) {
            return true;
        }
    }
    return command->hold != NULL;
}

/* Strikes a hold's line out of the batch under way; one that is sent later on, or once more, renews it no longer. */
void renewal_forget(struct hold *hold) {
    if (hold->batch) {
        hold->batch->batch[hold->batch_entry].live = false;
        hold->batch->batch[hold->batch_entry].lease_ms = 0;
        hold->batch = NULL;
    }
}

/* Its clock says that a hold is over while it is being renewed: see release_renewed. */
void renewal_expire(struct engine *engine, struct hold *hold) {
    if (hold->batch) {
        hold->batch->batch[hold->batch_entry].expired = true;
        engine->expired_entries++;
        renewal_forget(hold);
    }
}
