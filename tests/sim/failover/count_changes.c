/* What operations changed on the servers, compared with what their callers were told.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   the caller was told    the number of the last master was changed by
 *   an amount              that amount; by 0 only if a promoted replica lacked the change, never if all replicas had
 *                          acknowledged it
 *   no effect              0; by the amount of the first attempt only if a promoted replica lacked its undo
 *   NO_REPLY of a release  its amount: it goes on in the background
 *   NO_REPLY of an acquire 0: it is undone
 *   NO_REPLY, other        the amount or 0 */
#include "count_parts.h"
#include "failover_counts.h"
#include "wire.h"

/* A waiter that misses its message rechecks after five seconds. Without faults no message is missed. */
static const int64_t RECHECKED_WITHIN = 6 * SECOND;
static const int64_t WOKEN_WITHIN = 400 * MILLISECOND;

static int64_t count_value(const struct world *world, uint32_t server) {
    struct redis_text text;
    int64_t value = 0;
    if (keyspace_get(world->servers[server].keyspace, redis_text(name_text(world, 0)), &text)) {
        integer_parse(text, &value);
    }
    return value;
}

struct account *account_of(struct world *world, uint32_t client, uint64_t id) {
    if (id >= IDS_MAX) {
        world_violation(world, "a table of the simulation is full", "IDS_MAX: client %u", client);
        id = 0;
    }
    return &world->counted->accounts[client][id];
}

void changes_before_script(struct world_common *common, const struct packet *packet) {
    struct world *world = (struct world *)common;
    world->counted->value_before = count_value(world, server_index(world, packet->server));
}

void changes_after_script(struct world_common *common, const struct packet *packet) {
    struct world *world = (struct world *)common;
    struct counted *counted = world->counted;
    uint32_t server = server_index(world, packet->server);
    struct change_log *log = &counted->logs[server];
    struct number_change change = {.offset = packet->server->replication.offset};
    int64_t value = count_value(world, server);
    change.amount = value - counted->value_before;
    if (change.amount == 0) {
        return;
    }
    if (!count_operation_of(packet, &change.client, &change.id) || log->count == CHANGES_MAX) {
        world_violation(world,
                        log->count == CHANGES_MAX ? "a table of the simulation is full" : "a change without a record",
                        "server %u, by %d", server, (int)change.amount);
        return;
    }
    TRACE(world, "server %u: client %u id %d changes the number by %d to %d", server, change.client, (int)change.id,
          (int)change.amount, (int)value);
    if (packet->script == SCRIPT_ACQUIRE_SEMAPHORE && value < 0) {
        world_violation(world, "more permits were taken than there were", "%d in one go", (int)-change.amount);
    }
    struct account *account = account_of(world, change.client, change.id);
    account->first = account->changes ? account->first : change.amount;
    account->changes++;
    log->changes[log->count++] = change;
}

/* The promoted replica has the changes of the former master up to the offset that it received last. */
void changes_promoted(struct world *world) {
    const struct change_log *former = &world->counted->logs[world->former];
    struct change_log *log = &world->counted->logs[world->master];
    uint64_t offset = world->servers[world->master].replication.offset;
    uint32_t count = 0;
    for (uint32_t i = 0; i < former->count; i++) {
        if (former->changes[i].offset <= offset) {
            log->changes[count++] = former->changes[i];
        }
    }
    log->count = count;
    world->coverage.counts[COVER_CHANGE_LOST] += count < former->count;
}

/* Whether the foremost waiter of a client sleeps although its server has what it waits for. */
static bool could_go_on(const struct world *world, const struct client *client) {
    const struct wait_queue *queue = client->names[0]->queue;
    uint32_t server = server_index(world, client->peer.server);
    if (!queue || server != world->master) {
        return false;
    }
    const struct operation *taker = count_parked_first(&queue->waiters);
    const struct operation *watcher = count_parked_first(&queue->watchers);
    int64_t value = count_value(world, server);
    return world->kind == REDLATCH_LATCH ? watcher && value <= 0 : taker && value >= taker->amount;
}

void judge_sleepers(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < OWNERS; j++) {
            struct actor *actor = &world->counted->actors[i][j];
            judge_waiter(world, &world->clients[i], actor->busy ? &actor->operation : NULL, &actor->phase);
        }
        int64_t *since = &world->counted->free_since[i];
        *since = !could_go_on(world, &world->clients[i]) ? 0 : *since ? *since : world->now;
        if (*since && world->now - *since > (world->calm ? WOKEN_WITHIN : RECHECKED_WITHIN)) {
            world_violation(world, "a waiter sleeps although there is what it waits for", "client %u", i);
        }
    }
}

static void judge_account(struct world *world, uint32_t client, uint64_t id, const struct account *account) {
    int64_t sum = account->sum;
    bool lost = account->changes > account->kept;
    int64_t stated = account->effect == EFFECT_NONE ? 0 : account->amount;
    int64_t other = account->effect == EFFECT_NONE ? account->first : 0;
    bool may_differ = account->effect == EFFECT_EXACT_OR_NONE || (lost && !account->is_safe);
    if (sum != stated && !(may_differ && sum == other)) {
        world_violation(world, "the number was changed otherwise than the caller was told",
                        "client %u id %d: by %d, told %d%s", client, (int)id, (int)sum, (int)stated,
                        lost ? ", and a replica lacked a change" : "");
    }
}

void judge_changes(struct world *world) {
    const struct change_log *log = &world->counted->logs[world->master];
    int64_t sum = world->kind == REDLATCH_SEMAPHORE ? SEMAPHORE_BEGINS_WITH : 0;
    for (uint32_t i = 0; i < log->count; i++) {
        const struct number_change *change = &log->changes[i];
        struct account *account = account_of(world, change->client, change->id);
        account->sum += change->amount;
        account->kept++;
        sum += change->amount;
    }
    if (count_value(world, world->master) != sum) {
        world_violation(world, "the log of changes does not lead to the number", "%d, expected %d",
                        (int)count_value(world, world->master), (int)sum);
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint64_t id = 1; id <= world->clients[i].engine.last_id && id < IDS_MAX; id++) {
            const struct account *account = &world->counted->accounts[i][id];
            if (account->changes > 0 || account->effect != EFFECT_NONE) {
                judge_account(world, i, id, account);
            }
        }
    }
}
