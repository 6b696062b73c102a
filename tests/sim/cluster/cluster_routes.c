/* What a client knows of slots: the routes that it learns from the topology and from redirections, and how it follows
 * them, as in client/io/cluster.c and pipeline_io.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <hiredis.h>
#include <stdlib.h>

#include "cluster_world.h"
#include "error_reply.h"
#include "reroute.h"

enum { SEARCH_PERIOD_S = 5 };

/* If two nodes redirect a channel to each other, each gets a subscription every 50 ms, and one more at the
 * beginning. */
static const int64_t REFUSED_WITHIN = 100 * MILLISECOND;
enum { REFUSED_MAX = 2 * 4 };

static struct address_map no_map;

uint32_t route_of(const struct client *client, uint32_t name) {
    const struct server *server = client->routes[slot_of_name(name)];
    return server == &client->nobody ? NOBODY : (uint32_t)(server - client->nodes);
}

static void set_route(struct world *world, struct client *client, uint32_t name, uint32_t node) {
    if (route_of(client, name) != node) {
        client->routed_at[name] = world->now;
        if (node != NOBODY && random_chance(&world->random, 300)) { /* its connection for messages is being opened */
            client->peers[node].deaf_until = world->now + random_between(&world->random, 0, SECOND);
        }
        client->routes[slot_of_name(name)] = node == NOBODY ? &client->nobody : &client->nodes[node];
    }
    if (node != NOBODY) {
        client->serves[node] = true;
    }
}

void routes_start(struct world *world, uint32_t number) {
    struct client *client = &world->clients[number];
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        client->routes[slot] = &client->nobody;
    }
    client->engine.routes = client->routes;
    client->search_at = world->now;
    client->found_at = NEVER;
}

void routes_search(struct world *world, struct client *client, int64_t after) {
    int64_t at = world->now + after;
    client->search_at = at < client->search_at ? at : client->search_at;
}

static void give_up_connections(struct world *world, struct client *client, uint32_t node) {
    for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
        network_cut(&world->network, &client->peers[node], pipeline);
    }
    network_cut_messages(&world->network, &client->peers[node]);
}

/* Makes connections and commands follow the routes, as io_follow_routes does. */
void routes_follow(struct world *world, struct client *client) {
    if (!client->changed) {
        return;
    }
    client->changed = false;
    for (uint32_t node = 0; node < NODES; node++) {
        if (client->served[node] && !client->serves[node]) {
            give_up_connections(world, client, node);
        }
        client->served[node] = client->serves[node];
    }
    engine_reroute(&client->engine, &client->nobody, world->now);
    for (uint32_t node = 0; node < NODES; node++) {
        engine_reroute(&client->engine, &client->nodes[node], world->now);
    }
}

/* ------------------------------------------------------------------------------------------------------- topology --
 */

static redisReply *make_integer(redisReply *reply, long long integer) {
    *reply = (redisReply){.type = REDIS_REPLY_INTEGER, .integer = integer};
    return reply;
}

/* A reply [slot, slot, [host, port]] in memory of the caller. */
struct range {
    redisReply range, first, last, master, host, port;
    redisReply *parts[3], *master_parts[2];
    char text[16];
};

static redisReply *make_range(struct range *range, uint32_t name, uint32_t node) {
    int size = snprintf(range->text, sizeof range->text, "10.0.0.%u", node);
    range->host = (redisReply){.type = REDIS_REPLY_STRING, .str = range->text, .len = (size_t)size};
    range->master_parts[0] = &range->host;
    range->master_parts[1] = make_integer(&range->port, 7000 + (long long)node);
    range->master = (redisReply){.type = REDIS_REPLY_ARRAY, .elements = 2, .element = range->master_parts};
    range->parts[0] = make_integer(&range->first, slot_of_name(name));
    range->parts[1] = make_integer(&range->last, slot_of_name(name));
    range->parts[2] = &range->master;
    range->range = (redisReply){.type = REDIS_REPLY_ARRAY, .elements = 3, .element = range->parts};
    return &range->range;
}

static uint32_t node_at(const struct endpoint *endpoint) {
    return (uint32_t)endpoint->port - 7000;
}

static void set_found_route(struct world *world, struct client *client, uint32_t name) {
    const struct topology *topology = &client->topology;
    uint16_t master = topology->master_of[slot_of_name(name)];
    uint32_t before = route_of(client, name);
    uint32_t node = master == NO_MASTER ? NOBODY : node_at(&topology->masters[master]);
    node = topology_is_outdated(topology, slot_of_name(name)) ? before : node;
    if (node != before && client->requested_at < client->redirected_at[name]) {
        world_violation(world, "an old topology undoes a redirection", "client %u name %u: node %u, not %u",
                        client_of_peer(&client->peers[0]), name, node, before);
    }
    set_route(world, client, name, node);
}

/* Takes the reply to CLUSTER SLOTS, as cluster_found does. */
static void found(struct world *world, struct client *client) {
    struct range ranges[NAMES_MAX];
    redisReply *parts[NAMES_MAX];
    redisReply reply = {.type = REDIS_REPLY_ARRAY, .element = parts};
    struct topology *topology = &client->topology;
    struct endpoint source = {"10.0.0.9", 7009};
    bool outdated = false;
    for (uint32_t name = 0; name < world->name_count; name++) {
        if (client->found[name] != NOBODY) {
            parts[reply.elements++] = make_range(&ranges[name], name, client->found[name]);
        }
    }
    if (topology_read(topology, &reply, &source, &no_map) == REDLATCH_OK) {
        memset(client->serves, 0, sizeof client->serves);
        for (uint32_t name = 0; name < world->name_count; name++) {
            outdated = outdated || topology_is_outdated(topology, slot_of_name(name));
            set_found_route(world, client, name);
        }
        client->changed = true;
        engine_routes_changed(&client->engine, world->now);
        routes_follow(world, client);
    }
    if (outdated) {
        routes_search(world, client, 0);
    }
}

static bool reaches(const struct world *world, const struct client *client, uint32_t node) {
    return node_is_up(world, node) && world->now >= client->peers[node].cut_until;
}

/* Requests the topology from any node of the URL, also from a replica. If the node does not reply, another one is asked
 * later. */
static void ask(struct world *world, struct client *client) {
    uint32_t node = random_below(&world->random, NODES);
    client->search_at = NEVER;
    if (reaches(world, client, node)) {
        topology_requested(&client->topology);
        client->requested_at = world->now;
        bool stale = false;
        for (uint32_t name = 0; name < world->name_count; name++) {
            client->found[name] = world->views[node].owner[name];
            stale = stale || client->found[name] != world->owner[name];
        }
        world->coverage.counts[COVER_STALE_TOPOLOGY] += stale;
        bool slow = !world->calm && random_chance(&world->random, 100);
        client->found_at = world->now + random_between(&world->random, 200, slow ? 300000 : 5000);
        return;
    }
    for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
        engine_pipeline_failed(&client->engine, &client->nobody.pipelines[pipeline], REDLATCH_UNREACHABLE, true,
                               world->now);
    }
    routes_search(world, client, random_between(&world->random, 20, 300) * MILLISECOND);
}

int64_t routes_next(const struct world *world) {
    int64_t next = NEVER;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const struct client *client = &world->clients[i];
        int64_t at = client->found_at < NEVER ? client->found_at : client->search_at;
        next = at < next ? at : next;
        for (uint32_t node = 0; node < NODES; node++) { /* when the connection for messages is open */
            bool wanted = !list_is_empty(&client->nodes[node].subscription_changes);
            at = client->peers[node].deaf_until;
            at = client->nodes[node].changes_from > at ? client->nodes[node].changes_from : at;
            next = wanted && at > world->now && at < next ? at : next;
        }
    }
    return next;
}

void routes_act(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct client *client = &world->clients[i];
        if (world->now >= client->found_at) {
            client->found_at = NEVER;
            found(world, client);
            routes_search(world, client, SEARCH_PERIOD_S * SECOND);
        } else if (client->found_at == NEVER && world->now >= client->search_at) {
            ask(world, client);
        }
    }
}

/* --------------------------------------------------------------------------------------------------- redirections --
 */

static void learn_route(struct world *world, struct client *client, uint32_t name, uint32_t node) {
    topology_redirected(&client->topology, slot_of_name(name));
    client->redirected_at[name] = world->now;
    if (route_of(client, name) != node) {
        set_route(world, client, name, node);
        client->changed = true;
        engine_routes_changed(&client->engine, world->now);
        routes_search(world, client, 0);
    }
}

/* As cluster_redirects does. */
bool client_redirected(struct world_common *common, struct peer *peer, uint32_t pipeline, const struct reply *reply) {
    struct world *world = (struct world *)common;
    struct client *client = &world->clients[client_of_peer(peer)];
    if (reply->kind == REPLY_ERROR && !error_of_reply(reply).may_have_executed) {
        cluster_judge_not_run(world, client_of_peer(peer), peer_pipeline(peer, pipeline));
    }
    if (reply->kind != REPLY_ERROR || !is_redirection(reply->text, reply->size)) {
        return false;
    }
    struct endpoint source = {"10.0.0.9", 7009};
    struct endpoint endpoint;
    uint16_t slot;
    if (!redirect_read(reply->text, reply->size, &source, &no_map, &slot, &endpoint)) {
        world_violation(world, "a redirection is not understood", "%.*s", (int)reply->size, reply->text);
        return false;
    }
    if (reply->text[0] == 'A') {
        return engine_redirected_to_importer(&client->engine, peer_pipeline(peer, pipeline),
                                             &client->nodes[node_at(&endpoint)], world->now);
    }
    uint32_t name = 0;
    while (slot_of_name(name) != slot) {
        name++;
    }
    learn_route(world, client, name, node_at(&endpoint));
    return engine_redirected(&client->engine, peer_pipeline(peer, pipeline), world->now);
}

/* Returns whether a channel of a name is still requested at a node. */
static bool asks_for(const struct client *client, const struct peer *peer, uint32_t name) {
    const struct wait_queue *queue = client->names[name]->queue;
    bool asks = queue && queue->subscription.server == peer->engine_server;
    for (int i = 0; queue && i < WAKE_CHANNELS; i++) {
        asks = asks || (queue->wake_channels[i].server == peer->engine_server &&
                        queue->wake_channels[i].state == SUBSCRIPTION_WANTED);
    }
    return asks;
}

static void judge_refused(struct world *world, struct client *client, uint32_t name) {
    uint32_t channels = world->kind == REDLATCH_FAIR ? 1 + WAKE_CHANNELS : 1;
    if (world->now >= client->refused_from[name] + REFUSED_WITHIN) {
        client->refused_from[name] = world->now;
        client->refused[name] = 0;
    }
    if (++client->refused[name] > REFUSED_MAX * channels) {
        world_violation(world, "a channel is followed without a pause", "client %u name %u",
                        client_of_peer(&client->peers[0]), name);
    }
}

/* Handles a MOVED in reply to a subscription, as cluster_subscription_moved does. If the client learns no other route
 * from it, it opens the connection again. A MOVED for a channel that it no longer requests at that node is ignored. */
void client_refused(struct world_common *common, struct peer *peer, struct redis_text channel) {
    struct world *world = (struct world *)common;
    struct client *client = &world->clients[client_of_peer(peer)];
    uint32_t name = name_of_key(world, channel);
    uint32_t owner = world->views[node_of_peer(peer)].owner[name];
    if (!asks_for(client, peer, name)) {
        return;
    }
    if (owner == NOBODY || (route_of(client, name) == owner && owner == node_of_peer(peer))) {
        network_cut_messages(&world->network, peer);
        return;
    }
    judge_refused(world, client, name);
    learn_route(world, client, name, owner);
    routes_follow(world, client);
    if (route_of(client, name) == node_of_peer(peer)) {
        network_cut_messages(&world->network, peer);
    }
}

/* Handles a connection that broke or could not be opened, as broken and io_failed do. */
void client_lost(struct world_common *common, struct peer *peer, uint32_t pipeline) {
    struct world *world = (struct world *)common;
    struct client *client = &world->clients[client_of_peer(peer)];
    engine_importer_failed(&client->engine, peer_pipeline(peer, pipeline));
    engine_reroute(&client->engine, peer->engine_server, world->now);
    routes_search(world, client, 0);
}

void client_delivered(struct world_common *common, struct peer *peer) {
    struct world *world = (struct world *)common;
    routes_follow(world, &world->clients[client_of_peer(peer)]);
}
