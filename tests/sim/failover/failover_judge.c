/* Checks what clients believe against what servers have: after each event, and when a replica takes the place of the
 * master.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   what a client believes                what servers must have
 *   a deadline that moves later           a lease until then: on at least one server and min_replicas further ones
 *   a further level                       the same of the hold count
 *   a hold                                its client's server has it until the deadline, or the client is told of the
 *                                         loss soon after it has moved to that server
 *   any hold, if all replicas must        every promoted replica has it until the deadline; nobody else believes to
 *   acknowledge                           hold the same lock */
#include "failover_world.h"
#include "kinds.h"

/* How long a verification after a move takes at most: a round trip on a slow network, after a renewal that waits for
 * replicas. */
static const int64_t VERIFIED_WITHIN = 400 * MILLISECOND;

static bool is_believed(const struct world *world, const struct client *client, const struct hold *hold) {
    return hold->stage == HOLD_ALIVE && world->now < hold->deadline && owner_is_granted(client, hold);
}

/* Returns whether a server has a hold for as long as its holder believes in it. */
static bool bears_out(const struct world *world, uint32_t server, uint32_t name, uint32_t client,
                      const struct hold *hold) {
    const struct server_hold *known = server_hold_find(world, server, name, client, hold->id);
    return known && known->expires >= hold->deadline;
}

/* Returns how many servers have had a lease until `deadline` and a hold count of at least `count`. */
static uint32_t known_by(const struct id_note *note, int64_t deadline, uint32_t count) {
    uint32_t servers = 0;
    for (uint32_t i = 0; i < SERVERS; i++) {
        servers += note->leased_until[i] >= deadline && note->counts[i] >= count;
    }
    return servers;
}

/* Checks a deadline or a hold count that the last reply has raised. */
static void judge_progress(struct world *world, const struct client *client, const struct hold *hold) {
    struct id_note *note = failover_note(world, client->peer.number, hold->id);
    uint32_t needed = 1 + world->min_replicas;
    if (hold->deadline > note->deadline) {
        uint32_t known = known_by(note, hold->deadline, 1);
        if (known < needed) {
            world_violation(world, "a holder believes longer than the lease that enough servers have",
                            "client %u id %d: %u servers of %u", client->peer.number, (int)hold->id, known, needed);
        }
        note->deadline = hold->deadline;
    }
    if (hold->count > note->count) {
        uint32_t known = known_by(note, 0, hold->count);
        if (known < needed) {
            world_violation(world, "a holder believes in more levels than enough servers have",
                            "client %u id %d: %u servers of %u", client->peer.number, (int)hold->id, known, needed);
        }
        note->count = hold->count;
    }
}

/* Returns since when the client could have verified the hold. Returns NEVER while it cannot. */
static int64_t could_verify_since(const struct client *client) {
    bool up = client->peer.up[PIPELINE_BACKGROUND] && client->peer.server->replication.master == NULL;
    return up ? client->peer.ready_at[PIPELINE_BACKGROUND] : NEVER;
}

static void judge_hold(struct world *world, const struct client *client, const struct hold *hold, uint32_t name) {
    uint32_t number = client->peer.number;
    struct id_note *note = failover_note(world, number, hold->id);
    uint32_t server = server_index(world, client->peer.server);
    const struct server_hold *known = server_hold_find(world, server, name, number, hold->id);
    int64_t since = could_verify_since(client);
    if (bears_out(world, server, name, number, hold) || hold->busy || since == NEVER) {
        note->unknown_since = 0;
        return;
    }
    note->unknown_since = note->unknown_since ? note->unknown_since : world->now;
    since = since > note->unknown_since ? since : note->unknown_since;
    if (world->now - since > VERIFIED_WITHIN) {
        world_violation(world,
                        known ? "a holder goes on to believe longer than the lease on its server"
                              : "a loss is not told when the server has changed",
                        "client %u id %d: for %d ms", number, (int)hold->id, (int)((world->now - since) / MILLISECOND));
    }
}

/* Returns whether two holds of a name exclude each other. */
static bool exclude_each_other(const struct hold *one, const struct hold *other) {
    return one->lock_kind != REDLATCH_READ || other->lock_kind != REDLATCH_READ;
}

/* Checks exclusion. Called only if all replicas acknowledge each grant: then no hold is lost, and nobody else can be
 * granted what is held. The names of a group lock count as one lock. */
static void judge_exclusion(struct world *world, uint32_t first, uint32_t end) {
    const struct hold *last = NULL;
    uint32_t believers = 0;
    uint32_t most = world->kind == REDLATCH_PERMIT_SEMAPHORE ? PERMITS : 1;
    for (uint32_t i = 0; i < CLIENTS * (end - first); i++) {
        const struct client *client = &world->clients[i % CLIENTS];
        for (const struct hold *hold = client->names[first + i / CLIENTS]->holds; hold; hold = hold->next) {
            bool own = last && last->owner == hold->owner; /* a writer may also read */
            if (is_believed(world, client, hold) && !own && (!last || exclude_each_other(last, hold))) {
                believers++;
                last = hold;
            }
        }
    }
    if (believers > most) {
        world_violation(world, "more than one hold the lock although all replicas acknowledge", "name %u: %u", first,
                        believers);
    }
}

void judge_beliefs(struct world *world) {
    for (uint32_t name = 0; name < world->name_count; name++) {
        for (uint32_t i = 0; i < CLIENTS; i++) {
            const struct client *client = &world->clients[i];
            for (const struct hold *hold = client->names[name]->holds; hold; hold = hold->next) {
                if (hold->stage == HOLD_ALIVE && world->now < hold->deadline) {
                    judge_progress(world, client, hold);
                    judge_hold(world, client, hold, name);
                }
            }
        }
        if (needs_all_replicas(world)) {
            judge_exclusion(world, names_share_values(world) ? 0 : name, name + 1);
        }
    }
}

/* Checks which holds the new master lacks. They are lost. It may lack only what was not replicated to it. It may lack
 * nothing if all replicas acknowledge, or if the former master stepped down after this one had caught up. */
void judge_promotion(struct world *world) {
    bool stepped_down = world->servers[world->former].replication.master != NULL;
    for (uint32_t name = 0; name < world->name_count; name++) {
        for (uint32_t i = 0; i < CLIENTS; i++) {
            const struct client *client = &world->clients[i];
            for (const struct hold *hold = client->names[name]->holds; hold; hold = hold->next) {
                const struct server_hold *known = server_hold_find(world, world->master, name, i, hold->id);
                bool lost = is_believed(world, client, hold) && !bears_out(world, world->master, name, i, hold);
                bool safe = needs_all_replicas(world) ||
                            (stepped_down && bears_out(world, world->former, name, i, hold));
                world->coverage.counts[COVER_GRANT_LOST] += lost && !known;
                world->coverage.counts[COVER_LEASE_LOST] += lost && known;
                if (lost && safe && !hold->busy) {
                    world_violation(world, "a promoted replica lacks a hold that was to be safe",
                                    "client %u id %d of name %u%s", i, (int)hold->id, name,
                                    known ? ", which ends too soon" : "");
                }
            }
        }
    }
}
