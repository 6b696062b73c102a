/* Commands about several names: a line for each, and what a line has to do with the hold that it raises or lowers. Such
 * a hold is busy with the command until that is settled, as with one of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "steps.h"

/* The hold an owner has of a name of a set, as the kind of lock that it is there; NULL if none. */
struct hold *member_hold(const struct set_member *member, uint64_t owner) {
    return resource_hold_of(member->resource, member->lock_kind, owner);
}

/* A hold of the owner, of a name of the set, that is busy with another command; NULL if none is. */
struct hold *set_busy_hold(struct engine *engine, const struct operation *operation, int64_t now) {
    for (uint32_t i = 0; i < operation->set->count; i++) {
        const struct set_member *member = &operation->set->members[i];
        struct hold *hold = engine_hold_of(engine, member->resource, member->lock_kind, operation->owner, now);
        if (hold && hold->busy) {
            return hold;
        }
    }
    return NULL;
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

/* The command is settled for the holds that are still its lines': whoever waited for them goes on. */
void entries_command_done(struct engine *engine, struct command *command, int64_t now) {
    for (uint32_t i = 0; i < command->entry_count; i++) {
        struct hold *hold = command->entries->entry[i].hold;
        command->entries->entry[i].hold = NULL;
        if (hold) {
            hold->busy = NULL;
            hold_command_done(engine, hold, now);
        }
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
