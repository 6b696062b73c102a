/* Checks what clients believe against what nodes have: after each event, after each script, and when a replica takes
 * the place of its master.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   what a client believes       what must be true
 *   a deadline that moves later  some node has had a lease until then
 *   a hold                       nobody else believes to hold the same lock, unless one of the two holds is excused;
 *                                the node of the name has it until the deadline, or the client soon learns of the loss
 *
 * A late command may take a lock for no owner: it reached a node to which the slot had moved meanwhile, over a
 * connection that nobody had to kill. That lock is free when its lease ends. A hold is excused if the master had it and
 * the replica lacked it when it was promoted, or if a master granted it after it had been replaced. */
#include "cluster_world.h"

/* How long a verification after a change of route takes at most: a round trip on a slow network, and another one after
 * a redirection. */
static const int64_t VERIFIED_WITHIN = 500 * MILLISECOND;

/* NEAR in the script leave_read. */
static const int64_t OUTLASTS = 100 * MILLISECOND;

static bool is_believed(const struct world *world, const struct client *client, const struct hold *hold) {
    return hold->stage == HOLD_ALIVE && world->now < hold->deadline && caller_is_granted(client, hold);
}

static void judge_exclusion(struct world *world, uint32_t name) {
    const struct hold *other = NULL;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const struct client *client = &world->clients[i];
        for (const struct hold *hold = client->names[name]->holds; hold; hold = hold->next) {
            if (!is_believed(world, client, hold) || cluster_note(world, i, hold->id)->excused) {
                continue;
            }
            if (other && (other->lock_kind != REDLATCH_READ || hold->lock_kind != REDLATCH_READ)) {
                world_violation(world, "two hold the lock", "name %u: ids %d and %d", name, (int)other->id,
                                (int)hold->id);
            }
            other = hold;
        }
    }
}

static void judge_hold(struct world *world, const struct client *client, const struct hold *hold, uint32_t name) {
    uint32_t number = client_of_peer(&client->peers[0]);
    uint32_t owner = world->owner[name];
    struct id_note *note = cluster_note(world, number, hold->id);
    const struct server_hold *known = node_hold_find(world, owner, name, number, hold->id);
    note->may_end_sooner = note->may_end_sooner && (hold->busy || hold->deadline <= note->deadline);
    note->deadline = hold->deadline;
    if (hold->deadline > note->leased_until) {
        world_violation(world, "a holder believes longer than any node has known", "client %u id %d", number,
                        (int)hold->id);
    }
    /* A replaced master granted the hold. Nothing makes the client verify it if the client noticed neither that the
     * master was replaced nor that the name came back. */
    bool unseen = note->excused && client->routed_at[name] < world->owned_since[name];
    if ((known && known->expires >= hold->deadline) || hold->busy || unseen) {
        note->unknown_since = 0;
        return;
    }
    int64_t since = world->now - VERIFIED_WITHIN;
    note->unknown_since = note->unknown_since ? note->unknown_since : world->now;
    if (note->unknown_since <= since && could_reach(world, client, name, PIPELINE_BACKGROUND, since)) {
        world_violation(world, "a holder is not told that its node has less", "client %u id %d of name %u", number,
                        (int)hold->id, name);
    }
}

void cluster_judge_holds(struct world *world) {
    for (uint32_t name = 0; name < world->name_count; name++) {
        judge_exclusion(world, name);
        for (uint32_t i = 0; i < CLIENTS; i++) {
            const struct client *client = &world->clients[i];
            for (const struct hold *hold = client->names[name]->holds; hold; hold = hold->next) {
                if (hold->stage == HOLD_ALIVE && world->now < hold->deadline) {
                    judge_hold(world, client, hold, name);
                }
            }
        }
    }
}

/* Returns whether the holds that a node grants for a slot count. */
static bool is_authority(const struct world *world, uint32_t node, uint32_t name) {
    const struct slot_move *move = &world->moves[name];
    return world->owner[name] == node || (move->step != MOVE_NONE && (move->to == node || move->from == node));
}

/* Returns whether a node has a hold, even if its lease has ended. */
static bool has_hold(const struct node_holds *all, const struct server_hold *hold) {
    uint32_t i = 0;
    while (i < all->count && (all->holds[i].client != hold->client || all->holds[i].id != hold->id)) {
        i++;
    }
    return i < all->count;
}

/* Returns whether a lock may last. One with readers may outlast their leases by OUTLASTS. */
static bool may_last(const struct world *world, const struct node_holds *all) {
    int64_t since = world->now - (world->kind == REDLATCH_READ ? OUTLASTS : 0);
    uint32_t i = 0;
    while (i < all->count && all->holds[i].expires <= since) {
        i++;
    }
    return i < all->count;
}

/* Called after a script. A hold that the script removed counts as released, unless the lock had ended. A reader whose
 * lease has ended stays in the lock until it is removed, or until the lock ends with the last reader's lease. */
void cluster_judge_script(struct world_common *common, const struct packet *packet) {
    struct world *world = (struct world *)common;
    uint32_t node = node_of_server(world, packet->server);
    uint32_t name = name_of_key(world, packet->texts[0]);
    struct node_holds before = world->held[node][name];
    node_holds_read(world, node, name);
    const struct node_holds *after = &world->held[node][name];
    bool lasted = may_last(world, &before);
    for (uint32_t i = 0; i < before.count; i++) {
        const struct server_hold *hold = &before.holds[i];
        if (lasted && !has_hold(after, hold)) {
            struct id_note *note = cluster_note(world, hold->client, hold->id);
            bool own = client_of_peer(packet->peer) == hold->client;
            if (!own && hold->expires > world->now) {
                world_violation(world, "a script removed the hold of another client", "client %u id %d", hold->client,
                                (int)hold->id);
            }
            note->released_at = note->released ? note->released_at : world->now;
            note->released = note->released || own;
            world->released_at[name] = after->count == 0 && is_authority(world, node, name) ? world->now : 0;
        }
    }
    world->released_at[name] = after->count > 0 ? 0 : world->released_at[name];
    bool late = packet->epoch != packet->peer->epoch[packet->pipeline];
    for (uint32_t i = 0; i < after->count && late; i++) {
        cluster_note(world, after->holds[i].client, after->holds[i].id)->late = true;
    }
    for (uint32_t i = 0; i < after->count && !is_authority(world, node, name); i++) {
        cluster_note(world, after->holds[i].client, after->holds[i].id)->excused = true;
    }
}

void cluster_judge_promotion(struct world *world, uint32_t former, uint32_t master) {
    for (uint32_t name = 0; name < world->name_count; name++) {
        const struct node_holds *all = &world->held[former][name];
        for (uint32_t i = 0; i < all->count && world->owner[name] == former; i++) {
            const struct server_hold *hold = &all->holds[i];
            const struct server_hold *known = node_hold_find(world, master, name, hold->client, hold->id);
            if (hold->expires > world->now && (!known || known->expires < hold->expires)) {
                TRACE(world, "the replica lacks id %d of client %u%s", (int)hold->id, hold->client,
                      known ? ", or its lease" : "");
                cluster_note(world, hold->client, hold->id)->excused = true;
                cover(world, COVER_CLUSTER_LOST);
            }
        }
        if (world->owner[name] == former) {
            world->released_at[name] = 0;
            world->last_token[name] = 0;
        }
    }
}
