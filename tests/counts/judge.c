/* What every operation changed on the server, against what its caller was told; who sleeps although there is something
 * for him; whether permits that somebody believes in are there.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "counts.h"

void fail(struct world *world, const char *format, ...) {
    if (world->failure[0]) {
        return;
    }
    va_list list;
    va_start(list, format);
    vsnprintf(world->failure, sizeof world->failure, format, list);
    va_end(list);
}

/* The operation that a script was run for, by the name of its record. */
static struct account *account_of(struct world *world, const struct packet *packet) {
    for (uint32_t i = 0; i < packet->keys; i++) {
        const char *text = packet->text[i];
        if (packet->size[i] > 50 && memcmp(text, "redlatch_op:{n}:", 16) == 0) {
            struct client *client = &world->clients[text[16] - '0'];
            char digits[24] = "";
            memcpy(digits, text + 53, packet->size[i] - 53);
            return &client->accounts[strtoull(digits, NULL, 10)];
        }
    }
    return NULL;
}

void judge_effect(struct world *world, const struct packet *packet, int64_t change) {
    if (world->kind == REDLATCH_PERMIT_SEMAPHORE) {
        int64_t total = network_call(world, "get", "n", NULL) + network_call(world, "zcard", "{n}:timeout", NULL);
        if (total != world->total) {
            fail(world, "permits are not conserved: %d in all, expected %d", (int)total, (int)world->total);
        }
        return;
    }
    struct account *account = account_of(world, packet);
    if (account) {
        account->effect += change;
    } else if (change != 0) {
        fail(world, "a change without a record: %d", (int)change);
    }
    if (packet->script == SCRIPT_ACQUIRE_SEMAPHORE && change < 0 && network_call(world, "get", "n", NULL) < 0) {
        fail(world, "more permits were taken than there were");
    }
}

/* Whether the foremost waiter of a client could have what it waits for. */
static bool could_go_on(struct world *world, struct client *client) {
    const struct contest *contest = client->resource->contest;
    int64_t value = network_call(world, "get", "n", NULL);
    if (!contest) {
        return false;
    }
    const struct list *waiters = world->kind == REDLATCH_LATCH ? &contest->watchers : &contest->queue;
    struct list_link *link = list_first(waiters);
    if (!link) {
        return false;
    }
    const struct operation *operation = container_of(link, struct operation, link);
    bool parked = operation->phase == PHASE_PARKED || operation->phase == PHASE_QUEUED;
    return parked && (world->kind == REDLATCH_LATCH ? value <= 0 : value >= operation->amount);
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
            fail(world, "a waiter sleeps although there is what it waits for");
        }
    }
}

void judge_beliefs(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS && world->kind == REDLATCH_PERMIT_SEMAPHORE; i++) {
        const struct client *client = &world->clients[i];
        for (const struct hold *hold = client->resource->holds; hold; hold = hold->next) {
            if (hold->stage != HOLD_ALIVE || world->now >= hold->deadline) {
                continue;
            }
            unsigned char id[PERMIT_SIZE];
            permit_bytes(&client->engine, hold->id, id);
            struct redis_text words[] = {redis_text("zscore"), redis_text("{n}:timeout"), {(char *)id, sizeof id}};
            struct redis_reply reply = {0};
            keyspace_call(world->keyspace, words, 3, &reply);
            double over = 0;
            if (reply.kind == REDIS_BULK) {
                double_parse(redis_reply_view(&reply), &over);
            }
            redis_reply_free(&reply);
            if (over <= (double)world->now / (double)MILLISECOND) {
                fail(world, "a holder believes in a permit that is over");
            }
        }
    }
}

static int64_t live_leases(struct world *world) {
    char now[NUMBER_TEXT_SIZE] = "(";
    integer_format(world->now / MILLISECOND, now + 1);
    struct redis_text words[] = {redis_text("zcount"), redis_text("{n}:timeout"), redis_text(now), redis_text("+inf")};
    struct redis_reply reply = {0};
    keyspace_call(world->keyspace, words, 4, &reply);
    return reply.integer;
}

/* All is settled: every id changed what its caller was told. */
void judge_end(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const struct client *client = &world->clients[i];
        for (uint64_t id = 1; id <= client->engine.last_id; id++) {
            const struct account *account = &client->accounts[id];
            bool exact = account->effect == (account->told == CHANGES_NOTHING ? 0 : account->amount);
            bool either = account->told == CHANGES_OR_NOT && account->effect == 0;
            if (!exact && !either) {
                fail(world, "client %u id %d changed the count by %d, its caller was told %d", i, (int)id,
                     (int)account->effect, account->told == CHANGES_NOTHING ? 0 : (int)account->amount);
            }
        }
    }
    if (world->kind == REDLATCH_PERMIT_SEMAPHORE && live_leases(world) != 0) {
        fail(world, "permits are still taken in the end");
    }
}
