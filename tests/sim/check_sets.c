/* Several names at once: a script makes all of the holds that are missing or none, and so do calls.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim_client.h"
#include "refusal.h"
#include "steps.h"
#include "world.h"

void check_all_or_nothing(struct world *world, const struct request *request, const struct redis_reply *reply) {
    bool granted = reply->kind == REDIS_ARRAY && reply->size > 0 && reply->elements[0].integer == 0;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < names_of(world, request); i++) {
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
    for (uint32_t i = 0; i < client->set->count; i++) {
        const struct hold *hold = member_hold(&client->set->members[i], operation->operation.owner);
        int64_t deadline = hold ? hold->deadline : INT64_MIN;
        operation->deadline_before = deadline < operation->deadline_before ? deadline : operation->deadline_before;
    }
}

void check_set_acquired(struct client *client, const struct sim_operation *operation) {
    for (uint32_t i = 0; i < client->set->count; i++) {
        const struct hold *hold = member_hold(&client->set->members[i], operation->operation.owner);
        if (!hold || hold->stage != HOLD_ALIVE || client_now(client) >= hold->deadline) {
            world_violation(client->world, "a set is reported granted of which a part is over", "client %u lock %u",
                            client->index, client->set_names[i]);
        }
    }
}

void check_set_sent(struct client *client, const struct command *command) {
    struct world *world = client->world;
    for (uint32_t i = 0; command->kind == COMMAND_RELEASE_MANY && i < command->line_count; i++) {
        const struct line *line = &command->lines->line[i];
        if (line->count > 0) {
            continue;
        }
        struct id_note *note = note_of(world, client->index, line->id);
        note->releases_in_doubt++;
        note->release_sent_at = note->release_sent_at ? note->release_sent_at : world->now;
        if (line->hold && note->deadline == 0) {
            note->deadline = clock_true(&client->clock, line->hold->deadline);
        }
    }
}

void check_set_refused(struct client *client, const struct command *command, const struct refusal *refusal) {
    for (uint32_t i = 0; command->kind == COMMAND_RELEASE_MANY && i < command->line_count; i++) {
        const struct line *line = &command->lines->line[i];
        struct id_note *note = note_of(client->world, client->index, line->id);
        if (line->count == 0) {
            note->releases_in_doubt -= !refusal->may_have_run;
            note->written_off = note->written_off || !refusal->no_script; /* when it is given up, its lease ends it */
        } else if (!command->operation || command->repeated) {
            note->count_in_doubt = true;
        }
    }
}

bool set_names_id(const struct command *command, const struct resource *resource, uint64_t id) {
    for (uint32_t i = 0; i < command->line_count; i++) {
        if (command->lines->line[i].name == resource && command->lines->line[i].id == id) {
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
