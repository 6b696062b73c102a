/* Checks when waiters wake: as soon as what they wait for may have changed, not only by the recheck after 5 s.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   what happened                                     the waiter rechecks
 *   its process was told of the loss of its own hold  at once
 *   the lease of the holder that it knows of ended    up to 11 ms after that
 *   a message was sent to its process                 at once: check_waits.c, check_fair.c */
#include "sim_client.h"
#include "queue.h"
#include "world.h"

/* How long after the end of the holder's lease a waiter may recheck, with the resolution of the server's clock. */
static const int64_t AFTER_LEASE = 13 * MILLISECOND;

int64_t promptly(const struct world *world) {
    return 2 * world->plan.delay_max * (world->plan.spikes ? 10 : 1) + 6 * MILLISECOND;
}

int64_t latest(int64_t one, int64_t other) {
    return one > other ? one : other;
}

int64_t unhindered_since(const struct client *client) {
    const struct world *world = client->world;
    if (!links_ready(client) || world->troubled_until > world->now || client->paused_until > world->now) {
        return NEVER;
    }
    int64_t since = latest(world->troubled_until, client->resumed_at);
    for (int kind = 0; kind < LINK_COUNT; kind++) {
        since = latest(since, client->links[kind].ready_at);
    }
    return since;
}

/* Returns the first index of a lock. The two modes of a read-write lock have two indices and the same waiters. */
static uint32_t lock_of(const struct world *world, uint32_t name) {
    return world_has_read_write(world) ? name & ~1u : name;
}

/* Notes that a waiter is parked although something happened that should have woken it. */
static void note_parked(struct client *client, struct list_link *link) {
    struct operation *operation = link ? container_of(link, struct operation, link) : NULL;
    if (operation && operation->phase == PHASE_PARKED) {
        container_of(operation, struct sim_operation, operation)->woken_at = client->world->now;
    }
}

/* By now the foremost waiter must be requesting, and so must one of the sets that wait beside the queue. */
void wakes_lost(struct client *client, const struct hold *hold) {
    const struct wait_queue *queue = hold->resource->queue;
    if (!queue) {
        return;
    }
    note_parked(client, list_first(&queue->waiters));
    bool asks = false;
    for (struct list_link *link = list_first(&queue->watchers); link; link = list_next(&queue->watchers, link)) {
        asks = asks || container_of(link, struct operation, link)->phase == PHASE_REQUESTING;
    }
    if (!asks) {
        note_parked(client, list_first(&queue->watchers));
    }
}

void wakes_before(struct world *world, uint32_t name) {
    const struct wire_name *wire = &world->checker.wire[name];
    world->checker.before[name] = (struct lease_before){wire->expires, wire->count, wire->present};
}

void wakes_after(struct world *world, uint32_t name) {
    const struct wire_name *wire = &world->checker.wire[name];
    const struct lease_before *before = &world->checker.before[name];
    bool same = before->expires == wire->expires && before->count == wire->count && before->present == wire->present;
    if (!same || world->checker.created > 0) {
        world->checker.changed_at[lock_of(world, name)] = world->now;
    }
}

void wakes_external(struct world *world, uint32_t name) {
    world->checker.changed_at[lock_of(world, name)] = world->now;
}

/* Checks a waiter after its process lost a hold. */
static void check_after_loss(struct client *client, const struct sim_operation *waiter, uint32_t name,
                             int64_t unhindered) {
    struct world *world = client->world;
    if (waiter->woken_at && world->now - latest(waiter->woken_at, unhindered) > promptly(world)) {
        world_violation(world, "a waiter sleeps on although its process lost the lock", "client %u lock %u: for %d us",
                        client->index, name, (int)(world->now - waiter->woken_at));
    }
}

/* Checks a waiter after the end of the lease that it knows of. No script has changed that lease since the waiter's
 * request. */
static void check_after_lease(struct client *client, const struct sim_operation *waiter, uint32_t name,
                              int64_t unhindered) {
    struct world *world = client->world;
    const struct wire_name *wire = &world->checker.wire[name];
    bool ran_out = !wire->present && !wire->notified && wire->free_since == world->checker.ran_out_at[name];
    int64_t requested_after = latest(world->checker.changed_at[lock_of(world, name)], client->let_go_at[name]);
    if (!ran_out || waiter->parked_at > wire->free_since || waiter->parked_at <= requested_after + promptly(world) ||
        waiter->parked_at <= unhindered) {
        return;
    }
    int64_t drift = (wire->free_since - waiter->parked_at) / 50;
    if (world->now - wire->free_since > AFTER_LEASE + drift + promptly(world)) {
        world_violation(world, "a waiter sleeps on although the holder's lease ran out", "client %u lock %u: for %d us",
                        client->index, name, (int)(world->now - wire->free_since));
    }
}

void check_wake(struct client *client, const struct sim_operation *waiter, uint32_t name) {
    int64_t unhindered = unhindered_since(client);
    bool asks = waiter->operation.set || !queue_will_reenter(waiter->operation.resource->queue, &waiter->operation);
    if (waiter->operation.phase == PHASE_PARKED && unhindered != NEVER && asks) {
        check_after_loss(client, waiter, name, unhindered);
        check_after_lease(client, waiter, name, unhindered);
    }
}
