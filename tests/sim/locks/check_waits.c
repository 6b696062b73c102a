/* Checks waiting: the order of waiters, who gets the lock next, and that no waiter sleeps while the lock is free.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim_client.h"
#include "world.h"

static const int64_t LONGEST_SLEEP = 5 * SECOND; /* no waiter is parked longer without a recheck */
/* After a foreign client that publishes no message for its release; and for a lock whose waiters poll. */
static const int64_t LONGEST_PAUSE = 112 * MILLISECOND;
static const int64_t LONGEST_BACK_OFF = (SPIN_PAUSE_MAX_MS + 4) * MILLISECOND;
static const int64_t LONGEST_POLL = 254 * MILLISECOND; /* of a set that waits for a spin lock */
static const int64_t TICK = 40 * MILLISECOND;
/* After each release several waiters race for the lock. With sets there are two from each process, so a single waiter
 * has half the chance. */
enum { MISSES_MAX = 40, MISSES_MAX_BESIDE_SETS = 120 };

static void cover_phase(struct world *world, uint8_t from, uint8_t to) {
    static const struct {
        uint8_t from, to;
        enum cover_point point;
    } steps[] = {
        {PHASE_NEW, PHASE_REQUESTING, COVER_PHASE_NEW_REQUESTING},
        {PHASE_NEW, PHASE_QUEUED, COVER_PHASE_NEW_QUEUED},
        {PHASE_NEW, PHASE_PARKED, COVER_PHASE_NEW_PARKED},
        {PHASE_NEW, PHASE_WAITING, COVER_PHASE_NEW_WAITING},
        {PHASE_NEW, PHASE_DONE, COVER_PHASE_NEW_DONE},
        {PHASE_QUEUED, PHASE_REQUESTING, COVER_PHASE_QUEUED_REQUESTING},
        {PHASE_QUEUED, PHASE_PARKED, COVER_PHASE_QUEUED_PARKED},
        {PHASE_QUEUED, PHASE_WAITING, COVER_PHASE_QUEUED_WAITING},
        {PHASE_QUEUED, PHASE_DONE, COVER_PHASE_QUEUED_DONE},
        {PHASE_REQUESTING, PHASE_PARKED, COVER_PHASE_REQUESTING_PARKED},
        {PHASE_REQUESTING, PHASE_PAUSED, COVER_PHASE_REQUESTING_PAUSED},
        {PHASE_REQUESTING, PHASE_DONE, COVER_PHASE_REQUESTING_DONE},
        {PHASE_PARKED, PHASE_REQUESTING, COVER_PHASE_PARKED_REQUESTING},
        {PHASE_PARKED, PHASE_HANDED, COVER_PHASE_PARKED_HANDED},
        {PHASE_PARKED, PHASE_DONE, COVER_PHASE_PARKED_DONE},
        {PHASE_PAUSED, PHASE_REQUESTING, COVER_PHASE_PAUSED_REQUESTING},
        {PHASE_PAUSED, PHASE_DONE, COVER_PHASE_PAUSED_DONE},
        {PHASE_HANDED, PHASE_REQUESTING, COVER_PHASE_HANDED_REQUESTING},
        {PHASE_HANDED, PHASE_DONE, COVER_PHASE_HANDED_DONE},
        {PHASE_WAITING, PHASE_REQUESTING, COVER_PHASE_WAITING_REQUESTING},
        {PHASE_WAITING, PHASE_DONE, COVER_PHASE_WAITING_DONE},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (steps[i].from == from && steps[i].to == to) {
            cover(world, steps[i].point);
            return;
        }
    }
}

static void note_phases(struct client *client) {
    struct world *world = client->world;
    for (struct sim_operation *each = client->operations; each; each = each->next) {
        uint8_t phase = each->operation.phase;
        if (each->serial == 0 || each->last_phase == phase || (!each->in_use && !each->ended)) {
            continue;
        }
        cover_phase(world, each->last_phase, phase);
        each->last_phase = phase;
        each->parked_at = phase == PHASE_PARKED ? world->now : 0;
        each->woken_at = 0;
        if (each->operation.hold) { /* a nested acquire has left the queue; if it returns, it goes to the end */
            each->queued_order = 0;
        }
    }
}

void check_queues(struct client *client) {
    struct world *world = client->world;
    note_phases(client);
    for (uint32_t name = 0; name < world->plan.names; name++) {
        struct wait_queue *queue = client->names[name]->queue;
        uint64_t last = 0;
        struct list_link *link = queue ? list_first(&queue->waiters) : NULL;
        for (; link; link = list_next(&queue->waiters, link)) {
            struct operation *operation = container_of(link, struct operation, link);
            struct sim_operation *each = container_of(operation, struct sim_operation, operation);
            each->passed = each->passed || (operation->lock_kind == REDLATCH_READ &&
                                            resource_hold_of(operation->resource, REDLATCH_WRITE, operation->owner));
            if (each->passed) {
                continue; /* a writer reads past the queue, and stays so after releasing the write lock */
            }
            if (each->queued_order == 0) {
                each->queued_order = ++world->checker.last_order;
            }
            if (each->queued_order < last && world->plan.lock_kind != REDLATCH_FAIR) { /* their order is the server's */
                world_violation(world, "waiters changed places", "client %u lock %u", client->index, name);
            }
            last = each->queued_order;
            check_upgrade_waits(client, each);
            bool foreign = world->checker.wire[name].count > 0 && world->checker.wire[name].fields[0].client == FOREIGN;
            if (foreign && each->operation.phase == PHASE_PARKED) {
                cover(world, COVER_WAITED_FOR_FOREIGN);
            }
        }
    }
}

void check_granted_in_order(struct client *client, const struct sim_operation *operation) {
    if (client->world->plan.lock_kind == REDLATCH_FAIR) {
        return; /* the server determines the order: check_fair.c */
    }
    for (const struct sim_operation *each = client->operations; each; each = each->next) {
        bool waits = each->in_use && each != operation && each->operation.resource == operation->operation.resource &&
                     each->queued_order != 0 && each->operation.phase != PHASE_DONE && each->operation.hold == NULL;
        bool beside = operation->operation.lock_kind == REDLATCH_READ &&
                      (each->operation.lock_kind == REDLATCH_READ || operation->passed);
        bool earlier = operation->queued_order == 0 || each->queued_order < operation->queued_order;
        if (waits && earlier && !beside) {
            world_violation(client->world, "a waiter was overtaken inside its process", "client %u lock %u",
                            client->index, operation->name);
        }
    }
}

/* Returns since when nothing hinders a client's foremost waiter from acquiring the lock. Returns NEVER while something
 * does. */
static int64_t awake_since(const struct client *client, const struct sim_operation *operation, uint32_t name) {
    int64_t since = unhindered_since(client);
    return latest(since, latest(client->world->checker.wire[name].free_since, operation->parked_at));
}

/* Returns how long a waiter may stay parked although the lock is free. It is longer while the engine does not know yet
 * that a hold of its own is gone. */
static int64_t longest_sleep(const struct client *client, uint32_t name, const struct sim_operation *waiter) {
    const struct world *world = client->world;
    const struct wire_name *wire = &world->checker.wire[name];
    if (resource_live_hold(client->names[name])) {
        return LONGEST_SLEEP;
    }
    if (world_kind(world, name) == REDLATCH_SPIN) {
        return waiter->operation.set ? LONGEST_POLL : LONGEST_BACK_OFF;
    }
    bool unheard = world_kind(world, name) == REDLATCH_PLAIN && wire->left_by_foreign &&
                   waiter->parked_at > wire->taken_at + promptly(world); /* it waits for that foreign client only */
    return unheard ? LONGEST_PAUSE : LONGEST_SLEEP;
}

/* Returns whether a hold of this process stands in the way of a waiter: the hold was removed, but the engine does not
 * know yet. */
static bool is_in_own_way(const struct operation *operation) {
    const struct hold *hold = operation->resource->holds;
    while (hold &&
           (hold->stage != HOLD_ALIVE || (operation->lock_kind == REDLATCH_READ && hold->lock_kind == REDLATCH_READ))) {
        hold = hold->next;
    }
    return hold != NULL;
}

static void check_sleeper(struct client *client, struct operation *operation, uint32_t name) {
    struct world *world = client->world;
    const struct wire_name *wire = &world->checker.wire[name];
    const struct wait_queue *queue = operation->resource->queue;
    struct sim_operation *each = container_of(operation, struct sim_operation, operation);
    check_wake(client, each, name);
    if (wire->present || world->plan.lock_kind == REDLATCH_FAIR) {
        return;
    }
    int64_t since = awake_since(client, each, name);
    if (operation->phase != PHASE_PARKED || since == NEVER) {
        return;
    }
    since = latest(since, client->let_go_at[name]);
    if (world->now - since > longest_sleep(client, name, each) + promptly(world)) {
        world_violation(world, "a waiter sleeps too long", "client %u lock %u: for %d ms", client->index, name,
                        (int)((world->now - since) / MILLISECOND));
    }
    uint32_t lock = world_has_read_write(world) ? name & ~1u : name;
    bool listening = queue->subscription.state == SUBSCRIPTION_ACTIVE && client->subscribed_at[lock] > 0;
    if (!listening || !wire->notified || is_in_own_way(operation)) {
        return;
    }
    since = latest(since, client->subscribed_at[lock]);
    if (world->now - since > promptly(world)) {
        world_violation(world, "a wake-up was lost", "client %u lock %u: free and unused for %d us", client->index,
                        name, (int)(world->now - since));
    }
}

/* Checks the waiters at the front: the foremost one, or all readers there. */
static void check_sleepers(struct client *client, uint32_t name) {
    const struct wait_queue *queue = client->names[name]->queue;
    const struct list_link *link = queue ? list_first(&queue->waiters) : NULL;
    for (bool reads = true; link && reads; link = list_next(&queue->waiters, link)) {
        struct operation *operation = container_of(link, struct operation, link);
        reads = operation->lock_kind == REDLATCH_READ;
        bool first = link == list_first(&queue->waiters);
        if (container_of(operation, struct sim_operation, operation)->name == name && (reads || first)) {
            check_sleeper(client, operation, name);
        }
    }
}

/* Checks the first set among those that wait beside the queue of a name, to acquire it with other names. */
static void check_first_set(struct client *client, uint32_t name) {
    const struct wait_queue *queue = client->names[name]->queue;
    const struct list_link *first = queue ? list_first(&queue->watchers) : NULL;
    bool member = false; /* only one mode of a read-write lock is a member */
    for (uint32_t i = 0; i < client->set->count; i++) {
        member = member || client->set_names[i] == name;
    }
    if (first && member) {
        check_sleeper(client, container_of(first, struct operation, link), name);
    }
}

void check_freed(struct world *world, uint32_t name) {
    bool judged = world->plan.calm && world->plan.quick && world->plan.lock_kind != REDLATCH_FAIR &&
                  !world_has_values(world); /* others may acquire it by other names */
    uint32_t misses_max = world->plan.sets ? MISSES_MAX_BESIDE_SETS : MISSES_MAX;
    for (uint32_t i = 0; i < world->plan.clients && judged; i++) {
        struct client *client = world->clients[i];
        const struct wait_queue *queue = client->names[name]->queue;
        const struct list_link *first = queue ? list_first(&queue->waiters) : NULL;
        if (!first || queue->subscription.state != SUBSCRIPTION_ACTIVE) {
            continue;
        }
        struct sim_operation *each = container_of(container_of(first, struct operation, link), struct sim_operation,
                                                  operation);
        if (each->operation.phase == PHASE_PARKED && ++each->misses > misses_max) {
            world_violation(world, "a process does not get its turn", "client %u lock %u", i, name);
        }
    }
}

/* Checks for an operation that the engine should have ended by itself. */
static void check_timeout(struct client *client) {
    struct world *world = client->world;
    for (const struct sim_operation *each = client->operations; each; each = each->next) {
        bool open = each->in_use && each->operation.phase != PHASE_DONE && each->operation.asynchronous;
        if (open && client_now(client) - MILLISECOND > each->operation.wait_until &&
            client->paused_until <= world->now) {
            world_violation(world, "an operation outlives its patience", "client %u phase %d", client->index,
                            each->operation.phase);
        }
    }
}

static void tick(struct world *world, void *actor, uint64_t number) {
    for (uint32_t name = 0; name < world->plan.names; name++) {
        watch_name(world, name);
        check_fair_tick(world, name);
    }
    for (uint32_t i = 0; i < world->plan.clients; i++) {
        for (uint32_t name = 0; name < world->plan.names; name++) {
            watch_name(world, name);
            check_sleepers(world->clients[i], name);
            check_first_set(world->clients[i], name);
        }
        if (world->clients[i]->paused_until + 10 * MILLISECOND < world->now) {
            check_timeout(world->clients[i]);
        }
    }
    world_at(world, world->now + TICK, tick, actor, number);
}

void check_waits_start(struct world *world) {
    world_at(world, TICK, tick, world, 0);
}
