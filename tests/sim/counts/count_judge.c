/* The checks of the simulation of counts: each operation changed on the server what its caller was told; no waiter
 * sleeps although it could go on; each permit in whose lease a holder believes is taken on the server.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "count_parts.h"
#include "count_world.h"
#include "rejected_scripts.h"
#include "wire.h"

/* Returns the account of the operation for which a script was run, or NULL for a script without a record. */
static struct account *account_of(struct world *world, const struct packet *packet) {
    uint32_t client;
    uint64_t id;
    return count_operation_of(packet, &client, &id) ? &world->clients[client].accounts[id] : NULL;
}

static int64_t live_leases(struct world *world) {
    char now[NUMBER_TEXT_SIZE + 1] = "(";
    integer_format(world->now / MILLISECOND, now + 1);
    struct redis_text words[] = {redis_text("zcount"), redis_text("{n}:timeout"), redis_text(now), redis_text("+inf")};
    struct redis_reply reply = {0};
    keyspace_call(world->server.keyspace, words, 4, &reply);
    return reply.integer;
}

/* Returns when the lease of a permit ends by the server's clock, or 0 if the permit is not taken. */
static double lease_end(struct world *world, const void *id) {
    struct redis_text words[] = {redis_text("zscore"), redis_text("{n}:timeout"), {id, PERMIT_SIZE}};
    struct redis_reply reply = {0};
    double end = 0;
    keyspace_call(world->server.keyspace, words, 3, &reply);
    if (reply.kind == REDIS_BULK) {
        double_parse(redis_reply_view(&reply), &end);
    }
    redis_reply_free(&reply);
    return end;
}

/* Checks the reply of a script that writes nothing. */
static void judge_answer(struct world *world, const struct packet *packet) {
    int64_t value = count_command(world, "get", "n", NULL);
    int64_t reported = packet->reply.integer;
    int64_t expected = reported;
    if (packet->reply.kind != REDIS_INTEGER) {
        return;
    }
    if (packet->script == SCRIPT_COUNT_LEFT) {
        expected = value;
    } else if (packet->script == SCRIPT_WATCH) {
        bool is_free = value > 0 || !world->existed;
        expected = is_free ? -2 : reported == -2 ? -1 : reported;
    } else if (packet->script == SCRIPT_WATCH_LATCH) {
        expected = value <= 0 ? -2 : reported == -2 ? -1 : reported;
    } else if (packet->script == SCRIPT_COUNT_PERMITS) {
        int64_t taken = live_leases(world);
        int64_t available = value + count_command(world, "zcard", "{n}:timeout", NULL) - taken;
        char requested = packet->texts[packet->key_count].bytes[0];
        available = world->existed ? available : 0;
        expected = requested == '0' ? available : requested == '1' ? taken : available + taken;
    } else if (packet->script == SCRIPT_LEASE_OF_PERMIT) {
        int64_t now_ms = world->now / MILLISECOND;
        double left = lease_end(world, packet->texts[packet->key_count].bytes) - (double)now_ms;
        expected = left > 0 ? (int64_t)left : 0;
    }
    if (reported != expected) {
        world_violation(world, "a script tells what is not so", "%s: %d, expected %d",
                        scripts_embedded[packet->script].name, (int)reported, (int)expected);
    }
}

/* Returns how many permits there must be in all after a script. A repeated command must not change the total. */
static int64_t expected_total(struct world *world, const struct packet *packet, struct account *account) {
    if (packet->reply.kind == REDIS_ERROR) {
        return world->total;
    }
    if (packet->script == SCRIPT_DELETE_PERMITS) {
        for (uint32_t i = 0; i < CLIENTS; i++) {
            world->clients[i].deleted_to = world->clients[i].engine.last_id;
        }
        return 0;
    }
    if (!account || account->carried_out) {
        return world->total;
    }
    account->carried_out = true;
    int64_t amount = strtoll(packet->texts[packet->key_count + 2].bytes, NULL, 10);
    switch (packet->script) {
    case SCRIPT_SET_PERMITS:
        return amount;
    case SCRIPT_ADD_SEMAPHORE:
        account->effect = amount;
        return world->total + amount;
    case SCRIPT_TRY_SET_COUNT:
        account->effect = world->existed ? 0 : amount;
        return world->total + account->effect;
    default:
        return world->total;
    }
}

/* Returns the limit with which an acquire created a semaphore that did not exist, else 0. */
static int64_t made_with(struct world *world, const struct packet *packet) {
    bool of_permits = packet->script == SCRIPT_ACQUIRE_PERMITS;
    if ((!of_permits && packet->script != SCRIPT_ACQUIRE_SEMAPHORE) || world->existed ||
        count_command(world, "exists", "n", NULL) == 0) {
        return 0;
    }
    return strtoll(packet->texts[packet->key_count + (of_permits ? 2 : 4)].bytes, NULL, 10);
}

static void judge_total(struct world *world, const struct packet *packet) {
    int64_t total = count_command(world, "get", "n", NULL) + count_command(world, "zcard", "{n}:timeout", NULL);
    world->total = expected_total(world, packet, account_of(world, packet)) + made_with(world, packet);
    if (total != world->total) {
        world_violation(world, "permits are not conserved", "%d in all, expected %d", (int)total, (int)world->total);
    }
}

static void judge_effect(struct world *world, const struct packet *packet, int64_t change) {
    if (world->kind == REDLATCH_PERMIT_SEMAPHORE) {
        judge_total(world, packet);
        return;
    }
    struct account *account = account_of(world, packet);
    bool deletes = packet->script == SCRIPT_DELETE_COUNT;
    if (account) {
        account->effect += change;
    } else if (change != 0 && !deletes) {
        world_violation(world, "a change without a record", "by %d", (int)change);
    }
    if (account && packet->script == SCRIPT_UNDO_TAKEN && !world->existed && packet->reply.kind != REDIS_ERROR) {
        account->effect = 0; /* the permits that it took are deleted with the semaphore */
    }
    if (packet->script == SCRIPT_ACQUIRE_SEMAPHORE && change < 0 && count_command(world, "get", "n", NULL) < 0) {
        world_violation(world, "more permits were taken than there were", "%d in one go", (int)-change);
    }
}

/* Sometimes runs the script also for a user who may not use one of its commands. */
static void run_refused(struct world *world, const struct packet *packet) {
    if (!random_chance(&world->random, 20)) {
        return;
    }
    const char *command = writing_commands[random_below(&world->random, (uint32_t)writing_command_count)];
    if (refused_script_writes(world->scripts, packet->script, world->server.keyspace, packet->texts, packet->key_count,
                              packet->argument_count, command)) {
        world_violation(world, "a script that was refused a command has written", "%s without %s",
                        scripts_embedded[packet->script].name, command);
    }
}

void judge_before(struct world_common *common, const struct packet *packet) {
    struct world *world = (struct world *)common;
    run_refused(world, packet);
    world->value_before = count_command(world, "get", "n", NULL);
    world->existed = count_command(world, "exists", "n", NULL) == 1;
}

void judge_after(struct world_common *common, const struct packet *packet) {
    struct world *world = (struct world *)common;
    judge_answer(world, packet);
    int64_t change = count_command(world, "get", "n", NULL) - world->value_before;
    judge_effect(world, packet, change - made_with(world, packet));
}

/* Returns whether the foremost waiter or watcher of a client is parked although it could go on. */
static bool could_go_on(struct world *world, struct client *client) {
    const struct wait_queue *queue = client->resource->queue;
    if (!queue) {
        return false;
    }
    int64_t value = count_command(world, "get", "n", NULL);
    const struct operation *taker = count_parked_first(&queue->waiters);
    const struct operation *watcher = count_parked_first(&queue->watchers);
    if (world->kind == REDLATCH_LATCH) {
        return watcher && value <= 0;
    }
    bool has_some = value > 0 || count_command(world, "exists", "n", NULL) == 0;
    return (taker && value >= taker->amount) || (watcher && has_some);
}

void judge_wakes(struct world *world) {
    int64_t limit = world->calm ? 400 * MILLISECOND : 6 * SECOND;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct client *client = &world->clients[i];
        if (!could_go_on(world, client)) {
            client->hungry_since = 0;
        } else if (client->hungry_since == 0) {
            client->hungry_since = world->now;
        } else if (world->now - client->hungry_since > limit) {
            world_violation(world, "a waiter sleeps although there is what it waits for", "client %u", i);
        }
    }
}

void judge_permits(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS && world->kind == REDLATCH_PERMIT_SEMAPHORE; i++) {
        const struct client *client = &world->clients[i];
        for (const struct hold *hold = client->resource->holds; hold; hold = hold->next) {
            if (hold->stage != HOLD_ALIVE || world->now >= hold->deadline || hold->id <= client->deleted_to) {
                continue;
            }
            unsigned char id[PERMIT_SIZE];
            permit_bytes(&client->engine, hold->id, id);
            if (lease_end(world, id) <= (double)world->now / (double)MILLISECOND) {
                world_violation(world, "a holder believes in a permit that is over", "client %u", i);
            }
        }
    }
}

/* Called when nothing is in progress. Checks that every operation changed what its caller was told. */
void judge_counts(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const struct client *client = &world->clients[i];
        for (uint64_t id = 1; id <= client->engine.last_id; id++) {
            const struct account *account = &client->accounts[id];
            bool exact = account->effect == (account->believed == CHANGES_NOTHING ? 0 : account->amount);
            bool either = account->believed == CHANGES_OR_NOT && account->effect == 0;
            if (!exact && !either) {
                world_violation(world, "the count was changed otherwise than the caller was told",
                                "client %u id %d: by %d, told %d", i, (int)id, (int)account->effect,
                                account->believed == CHANGES_NOTHING ? 0 : (int)account->amount);
            }
        }
    }
    if (world->kind == REDLATCH_PERMIT_SEMAPHORE && live_leases(world) != 0) {
        world_violation(world, "permits are still taken in the end", "%d", (int)live_leases(world));
    }
}
