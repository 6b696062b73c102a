/* Checks fencing tokens: the token of each hold is greater than all before it, and its holder was told that token.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "sim_client.h"
#include "world.h"

static int64_t counter_of(struct world *world, uint32_t name) {
    char key[64];
    struct redis_reply reply = {0};
    int64_t value = 0;
    snprintf(key, sizeof key, "redisson_lock_token:{%.*s}", (int)world->names[name].size, world->names[name].bytes);
    struct redis_text words[] = {redis_text("GET"), redis_text(key)};
    keyspace_call(world->server.keyspace, words, 2, &reply);
    if (reply.kind == REDIS_BULK) {
        integer_parse(redis_reply_view(&reply), &value);
    }
    redis_reply_free(&reply);
    return value;
}

void check_token_drawn(struct world *world, uint32_t name, struct id_note *note) {
    struct wire_name *wire = &world->checker.wire[name];
    if (world_kind(world, name) != REDLATCH_FENCED) {
        return;
    }
    note->token = counter_of(world, name);
    if (note->token <= wire->last_token) {
        world_violation(world, "a token does not rise", "lock %u: %d after %d", name, (int)note->token,
                        (int)wire->last_token);
    }
    wire->last_token = note->token;
}

void check_token_lost(struct world *world, uint32_t name) {
    if (world_kind(world, name) == REDLATCH_FENCED) {
        world->checker.wire[name].last_token = counter_of(world, name);
    }
}

void check_token_notified(struct world *world, const struct hold *hold, const struct id_note *note, uint32_t name) {
    if (world_kind(world, name) == REDLATCH_FENCED && (int64_t)hold->token != note->token) {
        world_violation(world, "a holder has another hold's token", "lock %u id %d: %d, expected %d", name,
                        (int)hold->id, (int)hold->token, (int)note->token);
    }
}
