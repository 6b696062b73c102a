/* Commands about several names: an entry for each, and its link to the hold that it renews, raises or lowers. Such a
 * hold is busy with the command until it is done, as with a command of its own; but it is not busy with a renewal.
 * SPDX-License-Identifier: Apache-2.0 */
#include "entries.h"

/* Returns the hold that an owner has of a member of a set, of the kind that the set states. Returns NULL if there is
 * none. */
struct hold *member_hold(const struct set_member *member, uint64_t owner) {
    return resource_hold_of(member->resource, member->lock_kind, owner);
}

/* Adds an entry for a member to a command. `hold` is what the owner already holds of the member, or NULL. The caller
 * fills in the rest of the entry. */
void entry_add(struct command *command, const struct set_member *member, struct hold *hold) {
    struct entry *entry = &command->entries->entry[command->entry_count++];
    command->entry_end = command->entry_count;
    *entry = (struct entry){.hold = hold,
                            .name = resource_keep(member->resource),
                            .lock_kind = member->lock_kind,
                            .token_from_time = member->token_from_time,
                            .id = hold ? hold->id : 0};
    if (hold) {
        hold->busy = command;
    }
}

struct entry *entry_of(const struct command *command, const struct hold *hold) {
    for (uint32_t i = 0; i < command->entry_count; i++) {
        if (command->entries->entry[i].hold == hold) {
            return &command->entries->entry[i];
        }
    }
    return NULL;
}

void command_forget(struct command *command, const struct hold *hold) {
    bool unwanted = hold->stage == HOLD_GONE && hold->count == 0;
    if (command->hold == hold) {
        command->hold = NULL;
        command->unwanted = unwanted;
    }
    for (uint32_t i = 0; i < command->entry_count; i++) {
        struct entry *entry = &command->entries->entry[i];
        if (entry->hold == hold) {
            entry->hold = NULL;
            entry->unwanted = unwanted;
        }
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

/* Takes a hold out of its batch. If the batch is sent later, or again, its entry no longer renews the lease. */
void renewal_forget(struct hold *hold) {
    if (hold->batch) {
        hold->batch->batch[hold->batch_entry].live = false;
        hold->batch->batch[hold->batch_entry].lease_ms = 0;
        hold->batch = NULL;
    }
}

/* The deadline of a hold passed while a renewal is in flight. If the server still renewed the lease, the hold is
 * released there: see release_renewed. */
void renewal_expire(struct engine *engine, struct hold *hold) {
    if (hold->batch) {
        hold->batch->batch[hold->batch_entry].expired = true;
        engine->expired_entries++;
        renewal_forget(hold);
    }
}
