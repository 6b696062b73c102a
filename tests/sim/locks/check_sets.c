/* Several names at once: the positions of entries in a request; the rule that a script makes either all missing holds
 * or none; and the same rule for calls.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim_client.h"
#include "error_reply.h"
#include "entries.h"
#include "world.h"

bool is_set(const struct request *request) {
    return request->script == SCRIPT_ACQUIRE_MANY || request->script == SCRIPT_RELEASE_MANY;
}

/* Returns the member types of a set's entries, one letter for each. */
static const char *forms_of(const struct request *request) {
    return request->texts[request->key_count + (request->script == SCRIPT_ACQUIRE_MANY)].bytes;
}

/* Returns how many arguments an entry of a member type has. An entry of a group lock ends with the number of its
 * values, which is two, and the values. */
static uint32_t arguments_of(char form, bool acquire) {
    bool states_count = form < 'a';
    switch (form | 32) {
    case 'f':
        return 2 + states_count;
    case 'g':
        return (acquire ? 4u : 5u) + states_count;
    case 'r':
        return 3 + states_count;
    case 'w':
        return (acquire ? 2u : 3u) + states_count;
    default:
        return (acquire ? 1u : 2u) + states_count;
    }
}

/* Returns the index of an entry's first argument, its owner. */
uint32_t line_argument(const struct request *request, uint32_t line) {
    bool acquire = request->script == SCRIPT_ACQUIRE_MANY;
    uint32_t argument = acquire ? 2 : 1;
    for (uint32_t earlier = 0; earlier < line; earlier++) {
        argument += arguments_of(forms_of(request)[earlier], acquire);
    }
    return argument;
}

/* Returns how many entries a set has. */
uint32_t lines_of(const struct request *request) {
    return (uint32_t)request->texts[request->key_count + (request->script == SCRIPT_ACQUIRE_MANY)].size;
}

/* Returns which key is the name of an entry. After the name of a reader comes a timeout key; after a name that draws a
 * token comes its counter. */
uint32_t line_key(const struct request *request, uint32_t line) {
    uint32_t key = line;
    for (uint32_t earlier = 0; earlier < line; earlier++) {
        char form = (char)(forms_of(request)[earlier] | 32);
        key += form == 'r' || (form == 'f' && request->script == SCRIPT_ACQUIRE_MANY);
    }
    return key;
}

static uint32_t line_of(struct world *world, const struct request *request, uint32_t name) {
    uint32_t line = 0;
    while (key_name(world, request, line) != name) {
        line++;
    }
    return line;
}

/* Returns the member type of the entry about a name, or 0 if the request is about one name. */
char form_of_line(struct world *world, const struct request *request, uint32_t name) {
    return is_set(request) ? forms_of(request)[line_of(world, request, name)] : 0;
}

/* Returns which argument is the owner of a name. */
uint32_t owner_argument(struct world *world, const struct request *request, uint32_t name) {
    return is_set(request) ? line_argument(request, line_of(world, request, name)) : 0;
}

void check_all_or_nothing(struct world *world, const struct request *request, const struct redis_reply *reply) {
    bool granted = reply->kind == REDIS_ARRAY && reply->size > 0 && reply->elements[0].integer == 0;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < names_of(request); i++) {
        uint32_t name = key_name(world, request, i);
        struct wire_field named = owner_named(request, owner_argument(world, request, name));
        uint32_t reads = (form_of_line(world, request, name) | 32) == 'r';
        missing += wire_find(&world->checker.wire[name + reads], named.client, named.id) == NULL;
    }
    if (granted && missing > 0) {
        world_violation(world, "a set was granted in part", "%u names are missing", missing);
    }
    if (!granted && world->checker.created > 0) {
        world_violation(world, "a set that was not granted left holds", "%u", world->checker.created);
    }
}

void check_set_begun(struct client *client, struct sim_operation *operation) {
    operation->deadline_before = NEVER;
    operation->knew_of_loss = false;
    for (uint32_t i = 0; i < client->set->count; i++) {
        const struct hold *hold = member_hold(&client->set->members[i], operation->operation.owner);
        int64_t deadline = hold ? hold->deadline : INT64_MIN;
        operation->knew_of_loss = operation->knew_of_loss || (hold && hold->stage == HOLD_GONE);
        operation->deadline_before = deadline < operation->deadline_before ? deadline : operation->deadline_before;
    }
}

/* A release must return LOST if one hold of the set is lost, whatever is wrong with the other names. */
void check_set_not_owned(struct client *client, const struct sim_operation *operation) {
    if (operation->knew_of_loss) {
        world_violation(client->world, "a release of a set hides a loss", "client %u owner %u", client->index,
                        operation->owner->index);
    }
}

void check_set_acquired(struct client *client, const struct sim_operation *operation) {
    for (uint32_t i = 0; i < client->set->count; i++) {
        const struct hold *hold = member_hold(&client->set->members[i], operation->operation.owner);
        if (!hold || hold->stage != HOLD_ALIVE || client_now(client) >= hold->deadline) {
            world_violation(client->world, "a set is reported granted of which a part is over", "client %u lock %u",
                            client->index, client->set_names[i]);
            return;
        }
        note_of(client->world, client->index, hold->serial)->granted = true;
    }
}

void check_set_sent(struct client *client, const struct command *command) {
    struct world *world = client->world;
    for (uint32_t i = command->entry_first; command->kind == COMMAND_RELEASE_MANY && i < command->entry_end; i++) {
        const struct entry *line = &command->entries->entry[i];
        if (line->count > 0) {
            continue;
        }
        struct id_note *note = note_of(world, client->index, line->id);
        note->releases_in_doubt += !client->links[command->pipeline].connection->ended;
        note->release_sent_at = note->release_sent_at ? note->release_sent_at : world->now;
        if (line->hold && note->deadline == 0) {
            note->deadline = clock_true(&client->clock, line->hold->deadline);
        }
    }
}

void check_set_refused(struct client *client, const struct command *command, const struct error_reply *error_reply) {
    for (uint32_t i = command->entry_first; command->kind == COMMAND_RELEASE_MANY && i < command->entry_end; i++) {
        const struct entry *line = &command->entries->entry[i];
        struct id_note *note = note_of(client->world, client->index, line->id);
        if (line->count == 0) {
            note->releases_in_doubt -= !error_reply->may_have_executed;
            note->written_off = note->written_off || !error_reply->no_script; /* if given up, it ends with its lease */
        } else if (!command->operation || command->repeated) {
            note->count_in_doubt = true;
        }
    }
}

bool set_names_id(const struct command *command, const struct resource *resource, uint64_t id) {
    for (uint32_t i = 0; i < command->entry_count; i++) {
        if (command->entries->entry[i].name == resource && command->entries->entry[i].id == id) {
            return true;
        }
    }
    return false;
}

bool set_asks_with(const struct operation *operation, const struct resource *resource, uint64_t id) {
    for (uint32_t i = 0; operation->set && i < operation->set->count; i++) {
        if (operation->set->members[i].resource == resource && operation->id && operation->id + i == id) {
            return true;
        }
    }
    return false;
}
