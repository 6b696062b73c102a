/* The servers, which pause, fail and come back; what clients subscribe to; what becomes of each packet.
 * SPDX-License-Identifier: Apache-2.0 */
#include "outputs.h"
#include "several.h"

static struct peer *peer_of(const struct packet *packet) {
    return container_of(packet->pipelines, struct peer, pipelines);
}

void network_free(struct world *world) {
    packets_free(&world->packets);
    for (uint32_t i = 0; i < world->server_count; i++) {
        keyspace_free(world->servers[i].keyspace);
    }
}

/* Names are single letters from `a` on, and a channel has its name in braces. */
static uint32_t name_of_channel(const char *channel) {
    return (uint32_t)(strchr(channel, '{')[1] - 'a');
}

/* A channel's message, or what is said of a subscription to it. */
static void tell(struct world *world, struct peer *peer, enum packet_kind kind, struct redis_text channel) {
    struct packet *packet = packet_new(&peer->pipelines, kind, PIPELINE_BACKGROUND);
    packet_set_channel(packet, channel);
    packets_post(&world->packets, packet, world->now + packets_delay(&world->packets));
}

/* A subscription that is wanted is there after a moment; one that is left, at once. */
static void change_subscriptions(struct world *world, struct peer *peer) {
    struct engine *engine = &peer->client->engine;
    struct list_link *link;
    while ((link = list_pop(&engine->subscription_changes)) != NULL) {
        struct subscription *subscription = container_of(link, struct subscription, link);
        char channel[CHANNEL_SIZE_MAX + 1];
        size_t size = channel_text(engine, subscription, channel);
        channel[size] = '\0';
        if (subscription->state == SUBSCRIPTION_LEAVING) {
            peer->hears[name_of_channel(channel)] = false;
            engine_unsubscribed(engine, subscription, world->now);
        } else if (subscription->state == SUBSCRIPTION_WANTED) {
            tell(world, peer, PACKET_SUBSCRIBED, (struct redis_text){channel, size});
        }
    }
}

void network_flush(struct world *world) {
    for (uint32_t i = 0; i < PROCESSES; i++) {
        for (uint32_t j = 0; j < world->server_count && is_running(&world->processes[i]); j++) {
            struct peer *peer = &world->processes[i].peers[j];
            for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
                packets_send(&world->packets, &peer->pipelines, &peer->client->engine, pipeline, world->now);
            }
            change_subscriptions(world, peer);
        }
    }
}

/* ------------------------------------------------------------------------------------------------------ troubles -- */

void network_cut(struct peer *peer, uint32_t pipeline) {
    struct world *world = peer->process->world;
    peer->process->stirred = STIRRED_FOR;
    if (packets_cut(&world->packets, &peer->pipelines, &peer->client->engine, pipeline, world->now)) {
        client_finish_step(peer->client, world->now);
    }
}

void network_cut_messages(struct peer *peer) {
    struct world *world = peer->process->world;
    peer->process->stirred = STIRRED_FOR;
    memset(peer->hears, 0, sizeof peer->hears);
    packets_drop(&world->packets, &peer->pipelines, PACKET_MESSAGE, PIPELINE_COUNT);
    engine_subscriptions_lost(&peer->client->engine, world->now);
    client_finish_step(peer->client, world->now);
}

/* A server ends, and comes back with all its keys. */
void network_fail(struct world *world, struct server *server, int64_t until) {
    server->down_until = until;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        struct peer *peer = &world->processes[i].peers[server - world->servers];
        for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
            network_cut(peer, pipeline);
        }
        network_cut_messages(peer);
        packets_drop(&world->packets, &peer->pipelines, PACKET_REQUEST, PIPELINE_COUNT);
    }
}

/* ------------------------------------------------------------------------------------------------------ delivery -- */

static int publish(void *context, bool sharded, struct redis_text channel, struct redis_text message) {
    struct server *server = context;
    struct world *world = server->world;
    int notified = 0;
    (void)sharded;
    (void)message;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        struct peer *peer = &world->processes[i].peers[server - world->servers];
        if (peer->hears[name_of_channel(channel.bytes)]) {
            tell(world, peer, PACKET_MESSAGE, channel);
            notified++;
        }
    }
    return notified;
}

void network_start(struct world *world) {
    world->packets.random = &world->random;
    world->packets.slow = 30;
    for (uint32_t i = 0; i < world->server_count; i++) {
        struct server *server = &world->servers[i];
        server->world = world;
        server->keyspace = keyspace_new();
        keyspace_on_publish(server->keyspace, publish, server);
    }
}

/* A new connection, once the server is up. true when the packet goes on. */
static bool connect_again(struct world *world, struct packet *ready) {
    struct peer *peer = peer_of(ready);
    struct engine *engine = &peer->client->engine;
    if (world->now < peer->server->down_until) {
        engine_pipeline_failed(engine, ready->pipeline, REDLATCH_UNREACHABLE, world->now);
        packets_post(&world->packets, ready, world->now + random_between(&world->random, 10000, 400000));
        return true;
    }
    packets_reconnect(&world->packets, ready, engine, world->denied, world->now);
    return false;
}

static void deliver_message(struct world *world, const struct packet *packet) {
    struct peer *peer = peer_of(packet);
    enum pubsub_reply what = packet->kind == PACKET_SUBSCRIBED ? PUBSUB_SUBSCRIBED : PUBSUB_MESSAGE;
    struct redis_text channel = packet->texts[0];
    uint32_t name = name_of_channel(channel.bytes);
    peer->hears[name] = peer->hears[name] || what == PUBSUB_SUBSCRIBED;
    if (peer->hears[name]) {
        engine_pubsub_received(&peer->client->engine, what, channel.bytes, channel.size, 0, world->now);
    }
}

int64_t network_next(struct world *world) {
    const struct packet *first = packets_first(&world->packets);
    return first ? first->at : NEVER;
}

/* Until when whoever is to get a packet is stopped. */
static int64_t stopped_until(const struct packet *packet) {
    const struct peer *peer = peer_of(packet);
    return packet->kind == PACKET_REQUEST ? peer->server->paused_until : peer->process->paused_until;
}

/* Delivers one packet that is due; false when there is none. */
bool network_step(struct world *world) {
    struct packet *packet = packets_first(&world->packets);
    if (!packet || packet->at > world->now) {
        return false;
    }
    if (stopped_until(packet) > world->now) {
        packet->at = stopped_until(packet);
        return true;
    }
    packets_take(&world->packets, packet);
    struct peer *peer = peer_of(packet);
    struct client *client = peer->client;
    bool goes_on = packet->kind == PACKET_REQUEST;
    if (!goes_on) {
        peer->process->stirred = STIRRED_FOR;
    }
    if (packet->kind == PACKET_REQUEST) {
        packet_run(packet, world->scripts, REFUSE_NOTHING, peer->server->keyspace, world->now);
        packets_return(&world->packets, packet, world->now);
    } else if (packet->kind == PACKET_REPLY) {
        packet_answer(packet, &client->engine, world->now);
    } else if (packet->kind == PACKET_READY) {
        goes_on = connect_again(world, packet);
    } else {
        deliver_message(world, packet);
    }
    client_finish_step(client, world->now); /* what is done is on no list any more when others look */
    if (!goes_on) {
        packet_free(packet);
    }
    return true;
}
