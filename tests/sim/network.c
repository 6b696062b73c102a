/* What is on its way between clients and servers, one packet after the other.
 * SPDX-License-Identifier: Apache-2.0 */
#include "network.h"

#include <stdlib.h>

#include "engine_reply.h"
#include "texts.h"
#include "wire.h"

static struct packet *packet_new(struct peer *peer, enum packet_kind kind, uint32_t pipeline) {
    struct packet *packet = allocate(1, sizeof *packet);
    memset(packet, 0, sizeof *packet);
    packet->kind = kind;
    packet->peer = peer;
    packet->pipeline = pipeline;
    packet->epoch = peer->epoch[pipeline];
    return packet;
}

static void packet_free(struct packet *packet) {
    free(packet->texts);
    redis_reply_free(&packet->reply);
    free(packet);
}

/* ------------------------------------------------------------------------------------------------------- the way -- */

/* The time that one takes. */
static int64_t draw_delay(struct network *network) {
    struct sim_random *random = &network->world->random;
    return random_between(random, 100, random_chance(random, network->slow) ? 60000 : 3000);
}

static void post(struct network *network, struct packet *packet, int64_t at) {
    packet->at = at;
    packet->order = ++network->order;
    packet->next = network->first;
    network->first = packet;
}

/* The one that comes next, which stays on its way; NULL if there is none. */
static struct packet *first_to_come(const struct network *network) {
    struct packet *first = NULL;
    for (struct packet *packet = network->first; packet; packet = packet->next) {
        bool earlier = !first || packet->at < first->at || (packet->at == first->at && packet->order < first->order);
        first = earlier ? packet : first;
    }
    return first;
}

static void take_off(struct network *network, const struct packet *packet) {
    struct packet **place = &network->first;
    while (*place != packet) {
        place = &(*place)->next;
    }
    *place = packet->next;
}

/* Drops those of a kind, and of one pipeline unless that is PIPELINE_COUNT. */
static void drop(struct network *network, const struct peer *peer, enum packet_kind kind, uint32_t pipeline) {
    for (struct packet **place = &network->first; *place;) {
        struct packet *packet = *place;
        bool of_pipeline = pipeline == PIPELINE_COUNT || packet->pipeline == pipeline;
        if (packet->peer == peer && packet->kind == kind && of_pipeline) {
            *place = packet->next;
            packet_free(packet);
        } else {
            place = &packet->next;
        }
    }
}

/* When what is sent now comes, behind `last`, what was sent before it. */
static int64_t next_behind(struct network *network, int64_t *last) {
    int64_t at = network->world->now + draw_delay(network);
    *last = at > *last ? at : *last + 1;
    return *last;
}

/* --------------------------------------------------------------------------------------------- requests, replies -- */

static void send_requests(struct network *network, struct peer *peer, uint32_t pipeline) {
    struct command *command;
    while (peer->up[pipeline] && (command = engine_next_to_send(peer->engine, pipeline, network->world->now)) != NULL) {
        struct packet *packet = packet_new(peer, PACKET_REQUEST, pipeline);
        packet->script = command_script(command);
        packet->texts = texts_of_command(peer->engine, command, &packet->key_count, &packet->argument_count);
        post(network, packet, next_behind(network, &peer->arrival[pipeline]));
    }
}

/* The server carries a request out, whether or not anybody is there for the reply any more. */
static void carry_out(struct network *network, struct packet *packet) {
    struct world_common *world = network->world;
    struct sim_server *server = packet->peer->server;
    keyspace_set_time(server->keyspace, world->now / MILLISECOND);
    if (world->now < server->busy_until) {
        redis_reply_error(&packet->reply, "BUSY Redis is busy running a script. You can only call SCRIPT KILL.");
        return;
    }
    if (network->before_script) {
        network->before_script(world, packet);
    }
    script_set_run(world->scripts, packet->script, world->now < server->refuse_until ? REFUSE_MEMORY : REFUSE_NOTHING,
                   server->keyspace, packet->texts, packet->key_count, packet->argument_count, &packet->reply);
    if (network->after_script) {
        network->after_script(world, packet);
    }
    TRACE(world, "client %u pipeline %u: %s is run", packet->peer->number, packet->pipeline,
          scripts_embedded[packet->script].name);
}

/* Sends a request back as its reply, unless its connection broke. */
static void reply(struct network *network, struct packet *packet) {
    if (packet->epoch != packet->peer->epoch[packet->pipeline]) {
        packet_free(packet);
        return;
    }
    packet->kind = PACKET_REPLY;
    post(network, packet, next_behind(network, &packet->peer->returned[packet->pipeline]));
}

/* A reply on a connection that broke is not seen. */
static void deliver_reply(const struct packet *packet, int64_t now) {
    struct reply elements[REPLY_ELEMENTS_MAX];
    if (packet->epoch == packet->peer->epoch[packet->pipeline]) {
        struct reply converted = engine_reply(&packet->reply, elements);
        engine_replied(packet->peer->engine, packet->pipeline, &converted, now);
    }
}

/* ------------------------------------------------------------------------------------------------------ messages -- */

/* The bit of a channel, which has its name, a letter, in braces. */
static uint32_t channel_bit(const char *channel) {
    return 1u << (strchr(channel, '{')[1] - 'a');
}

/* A channel's message, or what is said of a subscription to it. */
static void tell(struct network *network, struct peer *peer, enum packet_kind kind, struct redis_text channel) {
    struct packet *packet = packet_new(peer, kind, PIPELINE_BACKGROUND);
    packet->texts = texts_copy(&channel, 1);
    post(network, packet, network->world->now + draw_delay(network));
}

/* A subscription that is wanted is there after a moment; one that is left, at once. */
static void change_subscriptions(struct network *network, struct peer *peer) {
    struct list_link *link;
    while ((link = list_pop(&peer->engine->subscription_changes)) != NULL) {
        struct subscription *subscription = container_of(link, struct subscription, link);
        char channel[CHANNEL_SIZE_MAX + 1];
        size_t size = channel_text(peer->engine, subscription, channel);
        channel[size] = '\0';
        if (subscription->state == SUBSCRIPTION_LEAVING) {
            peer->subscribed &= ~channel_bit(channel);
            engine_unsubscribed(peer->engine, subscription, network->world->now);
        } else if (subscription->state == SUBSCRIPTION_WANTED) {
            tell(network, peer, PACKET_SUBSCRIBED, (struct redis_text){channel, size});
        }
    }
}

static int publish(void *context, bool sharded, struct redis_text channel, struct redis_text message) {
    struct sim_server *server = context;
    struct network *network = server->network;
    int notified = 0;
    int64_t number;
    if (sharded || !integer_parse(message, &number)) {
        common_violation(network->world, "a message is no number", "%.*s on %.*s", (int)message.size, message.bytes,
                         (int)channel.size, channel.bytes);
    }
    for (uint32_t i = 0; i < network->peer_count; i++) {
        struct peer *peer = network->peers[i];
        if (peer->server == server && (peer->subscribed & channel_bit(channel.bytes))) {
            tell(network, peer, PACKET_MESSAGE, channel);
            notified++;
        }
    }
    return notified;
}

static void deliver_message(const struct packet *packet, int64_t now) {
    struct peer *peer = packet->peer;
    enum pubsub_reply what = packet->kind == PACKET_SUBSCRIBED ? PUBSUB_SUBSCRIBED : PUBSUB_MESSAGE;
    struct redis_text channel = packet->texts[0];
    peer->subscribed |= what == PUBSUB_SUBSCRIBED ? channel_bit(channel.bytes) : 0;
    if (peer->subscribed & channel_bit(channel.bytes)) {
        engine_pubsub_received(peer->engine, what, channel.bytes, channel.size, 0, now);
    }
}

/* --------------------------------------------------------------------------------------------------- connections -- */

static void note_delivered(struct network *network, struct peer *peer) {
    if (network->delivered) {
        network->delivered(network->world, peer);
    }
}

void network_cut(struct network *network, struct peer *peer, uint32_t pipeline) {
    struct world_common *world = network->world;
    if (peer->up[pipeline]) {
        TRACE(world, "FAULT: client %u pipeline %u is cut", peer->number, pipeline);
        peer->up[pipeline] = false;
        peer->epoch[pipeline]++;
        engine_pipeline_lost(peer->engine, pipeline, world->now);
        int64_t at = world->now + random_between(&world->random, 500, 400000);
        post(network, packet_new(peer, PACKET_READY, pipeline), at);
    }
    note_delivered(network, peer);
}

void network_cut_messages(struct network *network, struct peer *peer) {
    TRACE(network->world, "FAULT: client %u is cut off from messages", peer->number);
    peer->subscribed = 0;
    drop(network, peer, PACKET_MESSAGE, PIPELINE_COUNT);
    engine_subscriptions_lost(peer->engine, network->world->now);
    note_delivered(network, peer);
}

void network_fail(struct network *network, struct sim_server *server, int64_t until) {
    server->down_until = until;
    for (uint32_t i = 0; i < network->peer_count; i++) {
        struct peer *peer = network->peers[i];
        if (peer->server == server) {
            for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
                network_cut(network, peer, pipeline);
            }
            network_cut_messages(network, peer);
            drop(network, peer, PACKET_REQUEST, PIPELINE_COUNT);
        }
    }
}

/* A new connection, once the server is up; true when the packet goes on. Where the old one can be killed, what it had
 * on the way is gone; else it still comes, late. */
static bool connect_again(struct network *network, struct packet *ready) {
    struct world_common *world = network->world;
    struct peer *peer = ready->peer;
    if (world->now < peer->server->down_until) {
        engine_pipeline_failed(peer->engine, ready->pipeline, REDLATCH_UNREACHABLE, true, world->now);
        post(network, ready, world->now + random_between(&world->random, 10000, 400000));
        return true;
    }
    if (!network->denied) {
        drop(network, peer, PACKET_REQUEST, ready->pipeline);
    }
    for (struct packet *packet = network->first; packet; packet = packet->next) {
        if (packet->kind == PACKET_REQUEST && packet->peer == peer && packet->pipeline == ready->pipeline) {
            packet->at += random_between(&world->random, 0, 3 * SECOND);
        }
    }
    peer->up[ready->pipeline] = true;
    engine_pipeline_ready(peer->engine, ready->pipeline, network->denied ? RESOLUTION_DENIED : RESOLVED_BY_KILL,
                          world->now);
    return false;
}

/* ---------------------------------------------------------------------------------------------------------- all -- */

void network_add_server(struct network *network, struct sim_server *server) {
    server->network = network;
    server->keyspace = keyspace_new();
    keyspace_on_publish(server->keyspace, publish, server);
}

void network_add_peer(struct network *network, struct peer *peer) {
    peer->number = network->peer_count;
    for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
        peer->up[pipeline] = true;
    }
    network->peers[network->peer_count++] = peer;
}

void network_free(struct network *network, struct sim_server *servers, uint32_t count) {
    while (network->first) {
        struct packet *packet = network->first;
        network->first = packet->next;
        packet_free(packet);
    }
    for (uint32_t i = 0; i < count; i++) {
        keyspace_free(servers[i].keyspace);
    }
}

void network_flush(struct network *network) {
    for (uint32_t i = 0; i < network->peer_count; i++) {
        struct peer *peer = network->peers[i];
        if (peer_is_running(peer)) {
            for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
                send_requests(network, peer, pipeline);
            }
            change_subscriptions(network, peer);
        }
    }
}

int64_t network_next(const struct network *network) {
    const struct packet *first = first_to_come(network);
    return first ? first->at : NEVER;
}

bool network_step(struct network *network) {
    struct packet *packet = first_to_come(network);
    int64_t now = network->world->now;
    if (!packet || packet->at > now) {
        return false;
    }
    struct peer *peer = packet->peer;
    int64_t stopped_until = packet->kind == PACKET_REQUEST ? peer->server->paused_until : peer->paused_until;
    if (stopped_until > now) { /* whoever is to get it */
        packet->at = stopped_until;
        return true;
    }
    take_off(network, packet);
    if (packet->kind == PACKET_REQUEST) {
        carry_out(network, packet);
        reply(network, packet);
        return true;
    }
    bool goes_on = false;
    if (packet->kind == PACKET_REPLY) {
        deliver_reply(packet, now);
    } else if (packet->kind == PACKET_READY) {
        goes_on = connect_again(network, packet);
    } else {
        deliver_message(packet, now);
    }
    note_delivered(network, peer);
    if (!goes_on) {
        packet_free(packet);
    }
    return true;
}
