/* The events of a cluster: slots move, masters are replaced, connections break, and partitions separate a client and a
 * node for a while.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   a slot     is imported -> migrated -> its keys move one by one -> one of both nodes is told its owner -> the other
 *              one -> all nodes
 *   a master   ends, and comes back as a replica when its replica has taken its place; or goes on serving beside it for
 *              a while, for clients that have not noticed; or hands over to it in an orderly way
 * No slot of a shard moves while the shard's master is replaced. */
#include "cluster_world.h"

enum { LAG_SHORT = 3000, LAG_LONG = 300000 };

bool node_is_up(const struct world *world, uint32_t node) {
    return world->now >= world->servers[node].down_until;
}

void events_start(struct world *world) {
    for (uint32_t node = 0; node < NODES; node++) {
        struct node_view *view = &world->views[node];
        for (uint32_t name = 0; name < NAMES_MAX; name++) {
            world->owner[name] = name % SHARDS;
            view->owner[name] = world->owner[name];
            view->migrates_to[name] = NOBODY;
            view->imports_from[name] = NOBODY;
            world->gossip_at[node][name] = NEVER;
        }
        world->servers[node].replication.lag_max = random_chance(&world->random, 500) ? LAG_LONG : LAG_SHORT;
    }
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        struct sim_server *replica = &world->servers[shard + SHARDS];
        world->master[shard] = shard;
        world->promote_at[shard] = NEVER;
        world->demote_at[shard] = NEVER;
        replication_follow(&world->network, replica, &world->servers[shard]);
        replication_catch_up(&world->network, replica);
    }
    for (uint32_t name = 0; name < NAMES_MAX; name++) {
        world->moves[name].at = NEVER;
    }
    world->event_at = world->now + random_between(&world->random, SECOND / 10, SECOND);
}

static int64_t sooner(int64_t one, int64_t other) {
    return one < other ? one : other;
}

int64_t events_next(const struct world *world) {
    int64_t next = world->event_at;
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        next = sooner(next, sooner(world->promote_at[shard], world->demote_at[shard]));
    }
    for (uint32_t name = 0; name < world->name_count; name++) {
        next = sooner(next, world->moves[name].at);
        for (uint32_t node = 0; node < NODES; node++) {
            next = sooner(next, world->gossip_at[node][name]);
        }
    }
    if (world->partition.peer) {
        const struct partition *partition = &world->partition;
        next = sooner(next, sooner(partition->until, sooner(partition->doubt_at, partition->notice_at)));
    }
    return next;
}

/* Lets the other nodes learn the owner later, each at its own time. */
static void spread(struct world *world, uint32_t name, uint32_t owner) {
    for (uint32_t node = 0; node < NODES; node++) {
        if (world->views[node].owner[name] != owner) {
            bool soon = world->calm || world->restless;
            int64_t longest = soon ? 3000 : random_chance(&world->random, 200) ? 2 * SECOND : 200000;
            world->gossip_at[node][name] = world->now + random_between(&world->random, 100, longest);
        }
    }
}

/* --------------------------------------------------------------------------------------------------- slots that move
 */

static bool is_replaced(const struct world *world, uint32_t shard) {
    return world->promote_at[shard] != NEVER || world->demote_at[shard] != NEVER;
}

static bool shard_moves(const struct world *world, uint32_t shard) {
    for (uint32_t name = 0; name < world->name_count; name++) {
        const struct slot_move *move = &world->moves[name];
        if (move->step != MOVE_NONE && (move->from % SHARDS == shard || move->to % SHARDS == shard)) {
            return true;
        }
    }
    return false;
}

/* Returns whether an ASK, or a request after ASKING, is on its way. If its node imported the same slot once more, it
 * would run a late request of an earlier import. Redis cannot prevent that, so no slot begins to move meanwhile. */
static bool import_is_under_way(const struct world *world) {
    for (const struct packet *packet = world->network.first; packet; packet = packet->next) {
        bool ask = packet->kind == PACKET_REPLY && packet->reply.kind == REDIS_ERROR && packet->reply.text[0] == 'A';
        if (ask || (packet->kind == PACKET_REQUEST && packet->importing)) {
            return true;
        }
    }
    return false;
}

static void begin_move(struct world *world) {
    uint32_t name = random_below(&world->random, world->name_count);
    struct slot_move *move = &world->moves[name];
    bool back = world->restless && random_chance(&world->random, 700);
    uint32_t shard = back ? move->from % SHARDS : random_below(&world->random, SHARDS);
    uint32_t from = world->owner[name];
    if (!slot_is_agreed_on(world, name) || from % SHARDS == shard || is_replaced(world, shard) ||
        is_replaced(world, from % SHARDS) || import_is_under_way(world)) {
        return;
    }
    *move = (struct slot_move){.step = MOVE_IMPORTS,
                               .source_first = !world->calm && random_chance(&world->random, 300),
                               .from = from,
                               .to = world->master[shard],
                               .at = world->now};
    cover(world, COVER_SLOT_MOVED);
}

static void own(struct world *world, uint32_t name, uint32_t owner) {
    world->owner[name] = owner;
    world->owned_since[name] = world->now;
}

/* Tells one of the two nodes that the slot is now the target's. */
static void tell_end(struct world *world, uint32_t name, bool target) {
    const struct slot_move *move = &world->moves[name];
    TRACE(world, "node %u is told that name %u is node %u's", target ? move->to : move->from, name, move->to);
    node_learns(world, target ? move->to : move->from, name, move->to);
    own(world, name, move->to);
}

static void step_move(struct world *world, uint32_t name) {
    struct slot_move *move = &world->moves[name];
    /* A hold is lost if its slot moves for longer than its lease. A waiter gets TRYAGAIN while some of its keys have
     * moved. Read-write locks and fair locks have many keys to move. */
    bool many_keys = world->kind == REDLATCH_READ || world->kind == REDLATCH_FAIR;
    bool slow = random_chance(&world->random, 100) && !(world->calm && many_keys);
    move->at = world->now + random_between(&world->random, 100, slow ? SECOND : 60000);
    world->changed_at[name] = world->now;
    switch ((enum move_step)move->step) {
    case MOVE_IMPORTS:
        TRACE(world, "name %u begins to move from node %u to %u", name, move->from, move->to);
        world->views[move->to].imports_from[name] = move->from;
        move->step = MOVE_MIGRATES;
        break;
    case MOVE_MIGRATES:
        world->views[move->from].migrates_to[name] = move->to;
        move->step = MOVE_KEYS;
        break;
    case MOVE_KEYS:
        if (!node_moves_key(world, name, move->from, move->to) && random_chance(&world->random, 500)) {
            move->step = MOVE_ENDS;
        }
        break;
    case MOVE_ENDS:
        tell_end(world, name, !move->source_first);
        move->step = MOVE_ENDED;
        break;
    default:
        tell_end(world, name, move->source_first);
        spread(world, name, move->to);
        move->step = MOVE_NONE;
        move->at = NEVER;
        break;
    }
}

/* ------------------------------------------------------------------------------------------------ nodes that are gone
 */

static void serve_nobody(struct world *world, bool fails) {
    for (uint32_t node = 0; node < NODES; node++) {
        world->views[node].fails = fails && world->full_coverage;
    }
    for (uint32_t name = 0; name < world->name_count; name++) {
        world->changed_at[name] = world->now;
    }
}

static void promote(struct world *world, uint32_t shard) {
    uint32_t former = world->master[shard];
    uint32_t master = other_of_shard(former);
    TRACE(world, "node %u takes the place of node %u", master, former);
    replication_promote(&world->servers[master]);
    world->promote_at[shard] = NEVER;
    world->former[shard] = former;
    world->master[shard] = master;
    serve_nobody(world, false);
    for (uint32_t name = 0; name < world->name_count; name++) {
        node_holds_read(world, master, name);
    }
    cluster_judge_promotion(world, former, master);
    for (uint32_t name = 0; name < world->name_count; name++) {
        if (world->owner[name] == former) {
            own(world, name, master);
            node_learns(world, master, name, master);
            spread(world, name, master);
            world->gossip_at[former][name] = NEVER;
        }
    }
    bool gone = !node_is_up(world, former) && random_chance(&world->random, 400); /* it does not come back */
    int64_t longest = world->two_masters[shard] ? 1500 : 3000;
    world->demote_at[shard] = gone ? NEVER : world->now + random_between(&world->random, 20, longest) * MILLISECOND;
}

/* Makes the former master a replica. */
static void demote(struct world *world, uint32_t shard) {
    uint32_t former = world->former[shard];
    struct sim_server *server = &world->servers[former];
    TRACE(world, "node %u is a replica now", former);
    world->demote_at[shard] = NEVER;
    world->two_masters[shard] = false;
    server->process += server->down_until > world->now;
    server->down_until = 0;
    replication_follow(&world->network, server, &world->servers[world->master[shard]]);
    for (uint32_t name = 0; name < world->name_count; name++) {
        if (world->views[former].owner[name] == former) {
            node_learns(world, former, name, world->master[shard]);
        }
    }
}

static void replace_master(struct world *world) {
    uint32_t shard = random_below(&world->random, SHARDS);
    uint32_t node = world->master[shard];
    struct sim_server *server = &world->servers[node];
    struct sim_server *replica = &world->servers[other_of_shard(node)];
    uint32_t dice = random_below(&world->random, 100);
    for (uint32_t other = 0; other < SHARDS; other++) {
        if (is_replaced(world, other)) {
            return;
        }
    }
    if (shard_moves(world, shard) || replica->replication.master != server || !replica->replication.is_synced) {
        return;
    }
    cover(world, COVER_NODE_REPLACED);
    world->promote_at[shard] = world->now;
    if (dice < 50) {
        TRACE(world, "FAULT: node %u ends", node);
        network_fail(&world->network, server, NEVER);
        serve_nobody(world, true);
        world->promote_at[shard] = world->now + random_between(&world->random, 10, 1500) * MILLISECOND;
    } else if (dice < 75) {
        TRACE(world, "FAULT: node %u hands over", node);
        replication_catch_up(&world->network, replica);
        promote(world, shard);
        demote(world, shard);
    } else {
        TRACE(world, "FAULT: node %u is replaced, and serves on", node);
        world->two_masters[shard] = true;
    }
}

/* --------------------------------------------------------------------------------------------------------- the network
 */

static struct peer *draw_peer(struct world *world) {
    struct client *client = &world->clients[random_below(&world->random, CLIENTS)];
    uint32_t node = world->owner[random_below(&world->random, world->name_count)];
    return &client->peers[random_chance(&world->random, 800) ? node : random_below(&world->random, NODES)];
}

static void begin_partition(struct world *world) {
    struct partition *partition = &world->partition;
    if (partition->peer) {
        return;
    }
    struct peer *peer = draw_peer(world);
    int64_t longest = random_chance(&world->random, 300) ? 3000 : 800;
    *partition = (struct partition){.peer = peer,
                                    .doubt_at = world->now + SECOND / 2,
                                    .notice_at = world->now + random_between(&world->random, 300, 2000) * MILLISECOND,
                                    .until = world->now + random_between(&world->random, 50, longest) * MILLISECOND};
    peer->cut_until = partition->until;
    TRACE(world, "FAULT: client %u and node %u hear nothing of each other", client_of_peer(peer), node_of_peer(peer));
    cover(world, COVER_PARTITION);
}

static bool owes_replies(const struct peer *peer, uint32_t pipeline) {
    return peer->up[pipeline] && peer_pipeline(peer, pipeline)->in_flight > 0;
}

/* A client whose replies do not come requests the topology after a while, and later closes the connections. */
static void step_partition(struct world *world) {
    struct partition *partition = &world->partition;
    struct peer *peer = partition->peer;
    bool notices = world->now >= partition->notice_at;
    for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
        if (owes_replies(peer, pipeline) && world->now >= partition->doubt_at) {
            routes_search(world, &world->clients[client_of_peer(peer)], 0);
        }
        if (owes_replies(peer, pipeline) && notices) {
            network_cut(&world->network, peer, pipeline);
        }
    }
    if (notices) {
        network_cut_messages(&world->network, peer);
        partition->notice_at = NEVER;
    }
    partition->doubt_at = world->now >= partition->doubt_at ? NEVER : partition->doubt_at;
    if (world->now >= partition->until) {
        partition->peer = NULL;
    }
}

/* Makes a replica receive nothing for a while, or later than usual. */
static void slow_down(struct world *world) {
    struct replication *replica = &world->servers[random_below(&world->random, NODES)].replication;
    if (random_chance(&world->random, 500)) {
        replica->frozen_until = world->now + random_between(&world->random, 10, 2000) * MILLISECOND;
    } else {
        replica->lag_max = replica->lag_max == LAG_SHORT ? LAG_LONG : LAG_SHORT;
    }
}

static void event(struct world *world) {
    bool moves = world->calm || (world->restless && random_chance(&world->random, 600));
    uint32_t dice = moves ? 0 : random_below(&world->random, 100);
    if (dice < 35) {
        begin_move(world);
    } else if (dice < 60) {
        network_cut(&world->network, draw_peer(world), random_below(&world->random, PIPELINE_COUNT));
    } else if (dice < 65) {
        network_cut_messages(&world->network, draw_peer(world));
    } else if (dice < 75) {
        begin_partition(world);
    } else if (dice < 85) {
        slow_down(world);
    } else {
        replace_master(world);
    }
    world->event_at = world->now + random_between(&world->random, 1000, world->restless ? 100000 : 600000);
}

void events_act(struct world *world) {
    if (world->now >= world->event_at) {
        event(world);
    }
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        if (world->now >= world->promote_at[shard]) {
            promote(world, shard);
        }
        if (world->now >= world->demote_at[shard]) {
            demote(world, shard);
        }
    }
    for (uint32_t name = 0; name < world->name_count; name++) {
        if (world->now >= world->moves[name].at) {
            step_move(world, name);
        }
        for (uint32_t node = 0; node < NODES; node++) {
            if (world->now >= world->gossip_at[node][name]) {
                node_learns(world, node, name, world->owner[name]);
            }
        }
    }
    if (world->partition.peer) {
        step_partition(world);
    }
}

void events_end(struct world *world) {
    world->event_at = NEVER;
    for (uint32_t node = 0; node < NODES; node++) {
        world->servers[node].replication.frozen_until = 0;
        world->servers[node].replication.lag_max = MILLISECOND;
    }
}
