/* What nodes know of slots, and what they reply to a script before it runs, as Redis 7 does.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   the slot                     keys of the script                          reply
 *   is another node's            any                                         MOVED
 *   is the node's                any                                         none: the script runs
 *   is the node's, and migrates  all exist here                              none
 *                                none exists here                            ASK
 *                                some exist here                             TRYAGAIN
 *   is imported, after ASKING    one; or several that all exist here         none
 *                                several, of which one is missing            TRYAGAIN
 *   migrates, in the script      a command on a key that is missing          non local key
 *   is imported, in the script   a command on several, one is missing        non local key
 *   is nobody's                  any                                         CLUSTERDOWN */
#include "cluster_world.h"
#include "redis_commands.h"
#include "wire.h"

uint32_t node_of_server(const struct world *world, const struct sim_server *server) {
    return (uint32_t)(server - world->servers);
}

uint32_t name_of_key(const struct world *world, struct redis_text key) {
    uint16_t slot = key_slot(key.bytes, key.size);
    uint32_t name = 0;
    while (name < world->name_count && slot_of_name(name) != slot) {
        name++;
    }
    return name;
}

/* Replies as in "MOVED 15495 10.0.0.1:7001". The port is 7000 plus the number of the node. */
static void redirect(struct redis_reply *reply, const char *word, uint32_t name, uint32_t node) {
    redis_reply_error(reply, "%s %u 10.0.0.%u:%u", word, slot_of_name(name), node, 7000 + node);
}

static bool all_in_slot(const struct world *world, const struct packet *packet, uint32_t name) {
    for (uint32_t i = 1; i < packet->key_count; i++) {
        if (name_of_key(world, packet->texts[i]) != name) {
            return false;
        }
    }
    return true;
}

static uint32_t count_existing(const struct packet *packet) {
    uint32_t existing = 0;
    for (uint32_t i = 0; i < packet->key_count; i++) {
        existing += keyspace_exists(packet->server->keyspace, packet->texts[i]);
    }
    return existing;
}

static void reply_try_again(struct world *world, struct redis_reply *reply) {
    cover(world, COVER_TRYAGAIN);
    redis_reply_error(reply, "TRYAGAIN Multiple keys request during rehashing of slot");
}

/* Returns whether a node runs a script on a slot that it owns or imports. Sets the error reply if not. */
static bool is_served(struct world *world, struct packet *packet, uint32_t name, const struct node_view *view) {
    uint32_t node = node_of_server(world, packet->server);
    bool owns = view->owner[name] == node;
    bool whole = owns && view->migrates_to[name] == NOBODY;
    keyspace_set_side(packet->server->keyspace, whole ? SLOT_WHOLE : owns ? SLOT_MIGRATES : SLOT_IMPORTED);
    if (whole) {
        return true;
    }
    uint32_t existing = count_existing(packet);
    if (existing == packet->key_count || (!owns && packet->key_count == 1)) {
        return true;
    }
    if (owns && existing == 0) {
        cover(world, COVER_ASK);
        redirect(&packet->reply, "ASK", name, view->migrates_to[name]);
    } else {
        reply_try_again(world, &packet->reply);
    }
    return false;
}

bool node_refuses(struct world_common *common, struct packet *packet) {
    struct world *world = (struct world *)common;
    uint32_t node = node_of_server(world, packet->server);
    const struct node_view *view = &world->views[node];
    uint32_t name = name_of_key(world, packet->texts[0]);
    bool replica = packet->server->replication.master != NULL;
    if (name == world->name_count || !all_in_slot(world, packet, name)) {
        world_violation(world, "the keys of a script are not in one slot", "client %u: %s",
                        client_of_peer(packet->peer), scripts_embedded[packet->script].name);
        redis_reply_error(&packet->reply, "CROSSSLOT Keys in request don't hash to the same slot");
        return true;
    }
    if (view->fails || view->owner[name] == NOBODY) {
        cover(world, COVER_CLUSTERDOWN);
        redis_reply_error(&packet->reply,
                          view->fails ? "CLUSTERDOWN The cluster is down" : "CLUSTERDOWN Hash slot not served");
        return true;
    }
    bool imports = view->imports_from[name] != NOBODY && packet->importing;
    if (replica || (view->owner[name] != node && !imports)) {
        uint32_t owner = replica && view->owner[name] == node ? other_of_shard(node) : view->owner[name];
        cover(world, COVER_MOVED);
        redirect(&packet->reply, "MOVED", name, owner);
        TRACE(world, "client %u: node %u says MOVED to %u", client_of_peer(packet->peer), node, owner);
        return true;
    }
    bool served = is_served(world, packet, name, view);
    if (!served) {
        TRACE(world, "client %u: node %u says %.*s", client_of_peer(packet->peer), node, 8, packet->reply.text);
    }
    return !served;
}

/* A node accepts a shard channel only if it owns its slot. Other channels are accepted by every node. */
bool node_subscribes(struct world_common *common, const struct peer *peer, struct redis_text channel) {
    struct world *world = (struct world *)common;
    uint32_t node = node_of_peer(peer);
    return world->network.bus || world->views[node].owner[name_of_key(world, channel)] == node;
}

static void end_subscriptions(struct world *world, uint32_t node, uint32_t name) {
    char channel[64];
    size_t size = 0;
    struct argument_part parts[4];
    channel_parts(world->clients[0].names[name], parts);
    for (int i = 0; i < 4; i++) {
        memcpy(channel + size, parts[i].text, parts[i].size);
        size += parts[i].size;
    }
    channel[size] = '\0';
    if (!world->network.bus) {
        network_end_subscriptions(&world->network, &world->servers[node], (struct redis_text){channel, size});
    }
}

void node_learns(struct world *world, uint32_t node, uint32_t name, uint32_t owner) {
    struct node_view *view = &world->views[node];
    if (view->owner[name] == node && owner != node) {
        end_subscriptions(world, node, name);
    }
    view->owner[name] = owner;
    view->migrates_to[name] = NOBODY;
    if (owner == node) {
        view->imports_from[name] = NOBODY;
    }
    world->gossip_at[node][name] = NEVER;
    world->changed_at[name] = world->now;
}

static void note_moved(struct world *world, uint32_t node, uint32_t name) {
    keyspace_note_change(world->servers[node].keyspace);
    replication_note_script(&world->network, &world->servers[node]);
    node_holds_read(world, node, name);
}

bool node_moves_key(struct world *world, uint32_t name, uint32_t from, uint32_t to) {
    struct keyspace *source = world->servers[from].keyspace;
    struct keyspace *target = world->servers[to].keyspace;
    struct redis_text key;
    uint32_t cursor = 0;
    keyspace_set_time(source, world->now / MILLISECOND);
    keyspace_set_time(target, world->now / MILLISECOND);
    while (keyspace_next_key(source, &cursor, &key)) {
        if (name_of_key(world, key) == name) {
            TRACE(world, "key %.*s moves from node %u to %u", (int)key.size, key.bytes, from, to);
            keyspace_put(target, key, value_copy(keyspace_find(source, key)));
            keyspace_delete(source, key);
            note_moved(world, from, name);
            note_moved(world, to, name);
            world->changed_at[name] = world->now;
            return true;
        }
    }
    return false;
}

bool slot_is_agreed_on(const struct world *world, uint32_t name) {
    if (world->moves[name].step != MOVE_NONE) {
        return false;
    }
    for (uint32_t node = 0; node < NODES; node++) {
        bool agrees = world->views[node].owner[name] == world->owner[name] && !world->views[node].fails;
        if (!agrees && node_is_up(world, node)) {
            return false;
        }
    }
    return true;
}
