/* How one server takes the place of another, and how clients learn of it.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   the master       is killed, and comes back later as a replica; or stays a second master for a while, for clients
 *                    that have not been told; or steps down after its replica has caught up
 *   a client         is told, and moves; or finds out when it opens a connection, or when the former master, now a
 *                    replica, refuses a command */
#include "failover_counts.h"

enum { LAG_SHORT = 3000, LAG_LONG = 400000, FAILOVERS_MAX = 3 };

void failovers_start(struct world *world) {
    for (uint32_t i = 0; i < SERVERS; i++) {
        world->servers[i].replication.lag_max = LAG_SHORT;
    }
    for (uint32_t i = 1; i < SERVERS; i++) {
        replication_follow(&world->network, &world->servers[i], &world->servers[0]);
        replication_catch_up(&world->network, &world->servers[i]);
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        world->clients[i].move_at = NEVER;
    }
    world->promote_at = NEVER;
    world->demote_at = NEVER;
    world->failovers_left = world->calm ? 0 : 1 + random_below(&world->random, FAILOVERS_MAX);
    world->failover_at = world->calm ? NEVER : world->now + random_between(&world->random, SECOND / 2, 4 * SECOND);
}

int64_t failovers_next(const struct world *world) {
    int64_t next = world->failover_at < world->promote_at ? world->failover_at : world->promote_at;
    next = world->demote_at < next ? world->demote_at : next;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        next = world->clients[i].move_at < next ? world->clients[i].move_at : next;
    }
    return next;
}

static void promote(struct world *world) {
    struct sim_server *server = &world->servers[world->next];
    struct sim_server *former = &world->servers[world->master];
    world->promote_at = NEVER;
    world->former = world->master;
    world->master = world->next;
    replication_promote(server);
    TRACE(world, "server %u takes the place of server %u", world->master, world->former);
    if (world->counted) {
        changes_promoted(world);
    } else {
        server_holds_read(world, world->master);
        judge_promotion(world);
    }
    for (uint32_t i = 0; i < SERVERS; i++) {
        bool follows = world->servers[i].replication.master == former && random_chance(&world->random, 700);
        if (follows || former->replication.master) {
            if (&world->servers[i] != server) {
                replication_follow(&world->network, &world->servers[i], server);
            }
        }
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct client *client = &world->clients[i];
        bool notified = random_chance(&world->random, 600);
        client->peer.view = random_chance(&world->random, 700) ? server : client->peer.view;
        client->move_at = notified ? world->now + random_between(&world->random, 0, SECOND) : NEVER;
    }
    world->demote_at = world->now + random_between(&world->random, 50, 1500) * MILLISECOND;
}

static void cut_all(struct world *world, struct peer *peer) {
    for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
        network_cut(&world->network, peer, pipeline);
    }
    network_cut_messages(&world->network, peer);
}

/* Makes the former master a replica, and those that follow it replicas of the new master. Its clients find the new
 * master. */
static void demote(struct world *world) {
    struct sim_server *master = &world->servers[world->master];
    struct sim_server *former = &world->servers[world->former];
    TRACE(world, "server %u is a replica now", world->former);
    world->demote_at = NEVER;
    former->down_until = 0;
    for (uint32_t i = 0; i < SERVERS; i++) {
        struct sim_server *server = &world->servers[i];
        if (server != master && server->replication.master != master) {
            replication_follow(&world->network, server, master);
        }
    }
    bool closes = random_chance(&world->random, 500); /* as sentinels make it do */
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct client *client = &world->clients[i];
        client->peer.view = master;
        if (client->peer.server != master && closes) {
            cut_all(world, &client->peer);
        } else if (client->peer.server != master && client->move_at == NEVER) {
            client->move_at = world->now + random_between(&world->random, 0, SECOND);
        }
    }
}

/* Returns whether the last failover has ended for every client. */
static bool is_over(const struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        if (world->clients[i].peer.server != &world->servers[world->master]) {
            return false;
        }
    }
    return world->promote_at == NEVER && world->demote_at == NEVER;
}

/* Begins a failover, unless the drawn replica has no copy of its master's keys yet: nobody promotes such a replica. */
static void begin(struct world *world) {
    struct sim_server *former = &world->servers[world->master];
    uint32_t dice = random_below(&world->random, 100);
    world->next = (world->master + 1 + random_below(&world->random, SERVERS - 1)) % SERVERS;
    if (!world->servers[world->next].replication.is_synced) {
        return;
    }
    world->failovers_left--;
    world->promote_at = world->now;
    cover(world, COVER_FAILOVER);
    if (dice < 40) {
        TRACE(world, "FAULT: server %u is killed", world->master);
        network_fail(&world->network, former, NEVER);
        world->promote_at = world->now + random_between(&world->random, 10, 300) * MILLISECOND;
    } else if (dice < 60) {
        TRACE(world, "FAULT: server %u steps down", world->master);
        replication_catch_up(&world->network, &world->servers[world->next]);
        former->replication.master = &world->servers[world->next];
    } else {
        TRACE(world, "FAULT: server %u is a second master", world->master);
        cover(world, COVER_TWO_MASTERS);
    }
}

/* Makes a replica receive nothing for a while, or later than usual. */
static void slow_down(struct world *world) {
    struct replication *replica = &world->servers[random_below(&world->random, SERVERS)].replication;
    if (random_chance(&world->random, 500)) {
        int64_t longest_ms = random_chance(&world->random, 300) ? 5000 : 500;
        replica->frozen_until = world->now + random_between(&world->random, 10, longest_ms) * MILLISECOND;
    } else {
        replica->lag_max = replica->lag_max == LAG_SHORT ? LAG_LONG : LAG_SHORT;
    }
}

/* Breaks a connection, preferably one on which the server waits for replicas. */
static void cut(struct world *world, struct peer *peer) {
    uint32_t pipeline = random_below(&world->random, PIPELINE_COUNT);
    for (uint32_t i = 0; i < CLIENTS * PIPELINE_COUNT; i++) {
        struct peer *other = &world->clients[i / PIPELINE_COUNT].peer;
        if (other->waits[i % PIPELINE_COUNT] && random_chance(&world->random, 700)) {
            peer = other;
            pipeline = i % PIPELINE_COUNT;
        }
    }
    network_cut(&world->network, peer, pipeline);
}

static void misfortune(struct world *world) {
    struct peer *peer = &world->clients[random_below(&world->random, CLIENTS)].peer;
    uint32_t dice = random_below(&world->random, 100);
    if (dice < 40) {
        cut(world, peer);
    } else if (dice < 47) {
        network_cut_messages(&world->network, peer);
    } else if (dice < 75 || !is_over(world) || world->failovers_left == 0) {
        slow_down(world);
    } else {
        begin(world);
    }
    world->failover_at = world->draining ? NEVER : world->now + random_between(&world->random, 1000, SECOND);
}

void failovers_act(struct world *world) {
    if (world->now >= world->failover_at) {
        misfortune(world);
    }
    if (world->now >= world->promote_at) {
        promote(world);
    }
    if (world->now >= world->demote_at) {
        demote(world);
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct client *client = &world->clients[i];
        if (world->now >= client->move_at) {
            client->move_at = NEVER;
            network_move(&world->network, &client->peer, &world->servers[world->master]);
        }
    }
}
