/* Requests, replies and messages on their way; the servers; broken connections and what comes late of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "several.h"

static void post(struct world *world, struct packet *packet, int64_t at) {
    packet->at = at;
    packet->order = ++world->order;
    packet->next = world->packets;
    world->packets = packet;
}

static void free_packet(struct packet *packet) {
    for (uint32_t i = 0; i < packet->words; i++) {
        free(packet->text[i]);
    }
    redis_reply_free(&packet->reply);
    free(packet);
}

void network_free(struct world *world) {
    while (world->packets) {
        struct packet *packet = world->packets;
        world->packets = packet->next;
        free_packet(packet);
    }
    for (uint32_t i = 0; i < world->server_count; i++) {
        keyspace_free(world->servers[i].keyspace);
    }
}

static int64_t delay(struct world *world) {
    return random_between(&world->random, 100, random_chance(&world->random, 30) ? 60000 : 3000);
}

static struct packet *new_packet(struct peer *peer, enum packet_kind kind, uint32_t lane) {
    struct packet *packet = allocate(1, sizeof *packet);
    memset(packet, 0, sizeof *packet);
    packet->kind = kind;
    packet->peer = peer;
    packet->lane = lane;
    packet->epoch = peer->epoch[lane];
    return packet;
}

struct packet_sink {
    struct argument_sink sink;
    struct packet *packet;
};

static void add_word(struct packet *packet, const struct argument_part *parts, size_t part_count) {
    size_t size = 0;
    for (size_t i = 0; i < part_count; i++) {
        size += parts[i].size;
    }
    char *text = allocate(1, size + 1);
    packet->text[packet->words] = text;
    packet->size[packet->words++] = size;
    for (size_t i = 0; i < part_count; i++) {
        memcpy(text, parts[i].text, parts[i].size);
        text += parts[i].size;
    }
}

static void append(struct argument_sink *sink, const struct argument_part *parts, size_t part_count) {
    add_word(container_of(sink, struct packet_sink, sink)->packet, parts, part_count);
}

static void send_all(struct world *world, struct peer *peer, uint32_t lane) {
    struct engine *engine = &peer->client->engine;
    struct command *command;
    while (peer->up[lane] && (command = engine_next_to_send(engine, lane, world->now)) != NULL) {
        struct packet *packet = new_packet(peer, PACKET_REQUEST, lane);
        struct packet_sink sink = {{append}, packet};
        uint32_t arguments;
        packet->script = command_script(command);
        command_counts(command, &packet->keys, &arguments);
        command_write(engine, command, &sink.sink);
        int64_t at = world->now + delay(world);
        peer->arrival[lane] = at > peer->arrival[lane] ? at : peer->arrival[lane] + 1;
        post(world, packet, peer->arrival[lane]);
    }
}

/* Names are single letters from `a` on, and a channel has its name in braces. */
static uint32_t name_of_channel(const char *channel) {
    return (uint32_t)(strchr(channel, '{')[1] - 'a');
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
            struct packet *packet = new_packet(peer, PACKET_SUBSCRIBED, LANE_KEEPER);
            add_word(packet, &(struct argument_part){channel, size}, 1);
            post(world, packet, world->now + delay(world));
        }
    }
}

void network_flush(struct world *world) {
    for (uint32_t i = 0; i < PROCESSES; i++) {
        for (uint32_t j = 0; j < world->server_count && is_running(&world->processes[i]); j++) {
            struct peer *peer = &world->processes[i].peers[j];
            for (uint32_t lane = 0; lane < LANE_COUNT; lane++) {
                send_all(world, peer, lane);
            }
            change_subscriptions(world, peer);
        }
    }
}

/* ------------------------------------------------------------------------------------------------------ troubles -- */

void network_cut(struct peer *peer, uint32_t lane) {
    struct world *world = peer->process->world;
    if (!peer->up[lane]) {
        return;
    }
    peer->up[lane] = false;
    peer->epoch[lane]++;
    engine_lane_lost(&peer->client->engine, lane, world->now);
    client_settle(peer->client, world->now);
    post(world, new_packet(peer, PACKET_READY, lane), world->now + random_between(&world->random, 500, 400000));
}

/* Takes packets of some kinds, and of one lane unless all are meant, off the way. */
static void drop_packets(struct world *world, const struct peer *peer, uint32_t kinds, uint32_t lane) {
    for (struct packet **place = &world->packets; *place;) {
        struct packet *packet = *place;
        bool of_lane = lane == LANE_COUNT || packet->lane == lane;
        bool meant = packet->peer == peer && (kinds >> packet->kind & 1) && of_lane;
        if (meant) {
            *place = packet->next;
            free_packet(packet);
        } else {
            place = &packet->next;
        }
    }
}

void network_cut_messages(struct peer *peer) {
    memset(peer->hears, 0, sizeof peer->hears);
    drop_packets(peer->process->world, peer, 1U << PACKET_MESSAGE, LANE_COUNT);
    engine_subscriptions_lost(&peer->client->engine, peer->process->world->now);
    client_settle(peer->client, peer->process->world->now);
}

/* A server ends, and comes back with all its keys. */
void network_fail(struct world *world, struct server *server, int64_t until) {
    server->down_until = until;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        struct peer *peer = &world->processes[i].peers[server - world->servers];
        for (uint32_t lane = 0; lane < LANE_COUNT; lane++) {
            network_cut(peer, lane);
        }
        network_cut_messages(peer);
        drop_packets(world, peer, 1U << PACKET_REQUEST, LANE_COUNT);
    }
}

/* ------------------------------------------------------------------------------------------------------ delivery -- */

static int publish(void *context, bool sharded, struct redis_text channel, struct redis_text message) {
    struct server *server = context;
    struct world *world = server->world;
    int told = 0;
    (void)sharded;
    (void)message;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        struct peer *peer = &world->processes[i].peers[server - world->servers];
        if (peer->hears[name_of_channel(channel.bytes)]) {
            struct packet *packet = new_packet(peer, PACKET_MESSAGE, LANE_KEEPER);
            add_word(packet, &(struct argument_part){channel.bytes, channel.size}, 1);
            post(world, packet, world->now + delay(world));
            told++;
        }
    }
    return told;
}

void network_start(struct world *world) {
    for (uint32_t i = 0; i < world->server_count; i++) {
        struct server *server = &world->servers[i];
        server->world = world;
        server->keyspace = keyspace_new();
        keyspace_on_publish(server->keyspace, publish, server);
    }
}

/* The server carries a request out, whether or not anybody is there for the reply any more. */
static void execute(struct world *world, struct packet *packet) {
    struct redis_text words[WORDS_MAX];
    struct peer *peer = packet->peer;
    struct keyspace *keyspace = peer->server->keyspace;
    for (uint32_t i = 0; i < packet->words; i++) {
        words[i] = (struct redis_text){packet->text[i], packet->size[i]};
    }
    keyspace_set_time(keyspace, world->now / MILLISECOND);
    script_host_run(world->scripts->host, keyspace, world->scripts->numbers[packet->script][REFUSE_NOTHING], words,
                    packet->keys, words + packet->keys, packet->words - packet->keys, &packet->reply);
    if (packet->epoch != peer->epoch[packet->lane]) {
        free_packet(packet);
        return;
    }
    packet->kind = PACKET_REPLY;
    int64_t at = world->now + delay(world);
    peer->returned[packet->lane] = at > peer->returned[packet->lane] ? at : peer->returned[packet->lane] + 1;
    post(world, packet, peer->returned[packet->lane]);
}

static struct reply one_reply(const struct redis_reply *from) {
    static const enum reply_kind kinds[] = {[REDIS_NIL] = REPLY_NIL,       [REDIS_INTEGER] = REPLY_INTEGER,
                                            [REDIS_STATUS] = REPLY_STRING, [REDIS_BULK] = REPLY_STRING,
                                            [REDIS_ERROR] = REPLY_ERROR,   [REDIS_ARRAY] = REPLY_ARRAY};
    struct reply reply = {.kind = kinds[from->kind], .integer = from->integer};
    if (from->kind == REDIS_STATUS || from->kind == REDIS_BULK || from->kind == REDIS_ERROR) {
        reply.text = from->text;
        reply.size = from->size;
    }
    return reply;
}

static void answer(struct world *world, struct packet *packet) {
    struct peer *peer = packet->peer;
    struct reply elements[RENEWAL_BATCH_SIZE];
    struct reply reply = one_reply(&packet->reply);
    if (packet->epoch != peer->epoch[packet->lane]) {
        return;
    }
    for (size_t i = 0; reply.kind == REPLY_ARRAY && i < packet->reply.size; i++) {
        elements[i] = one_reply(&packet->reply.elements[i]);
    }
    if (reply.kind == REPLY_ARRAY) {
        reply.elements = elements;
        reply.count = packet->reply.size;
    }
    engine_replied(&peer->client->engine, packet->lane, &reply, world->now);
}

/* A new connection, once the server is up. Where the old one can be killed, what it had on the way is gone; else it
 * still comes. true when the packet goes on. */
static bool connect_again(struct world *world, struct packet *ready) {
    struct peer *peer = ready->peer;
    struct engine *engine = &peer->client->engine;
    if (world->now < peer->server->down_until) {
        engine_lane_failed(engine, ready->lane, REDLATCH_UNREACHABLE, world->now);
        post(world, ready, world->now + random_between(&world->random, 10000, 400000));
        return true;
    }
    if (!world->denied) {
        drop_packets(world, peer, 1U << PACKET_REQUEST, ready->lane);
    }
    for (struct packet *packet = world->packets; packet; packet = packet->next) {
        if (packet->kind == PACKET_REQUEST && packet->peer == peer && packet->lane == ready->lane) {
            packet->at += random_between(&world->random, 0, 3 * SECOND);
        }
    }
    peer->up[ready->lane] = true;
    engine_lane_ready(engine, ready->lane, world->denied ? SETTLEMENT_DENIED : SETTLED_BY_KILL, world->now);
    return false;
}

static void deliver_message(struct world *world, const struct packet *packet) {
    struct peer *peer = packet->peer;
    bool subscribed = packet->kind == PACKET_SUBSCRIBED;
    const char *channel = packet->text[0];
    uint32_t name = name_of_channel(channel);
    peer->hears[name] = peer->hears[name] || subscribed;
    if (peer->hears[name]) {
        engine_heard(&peer->client->engine, subscribed ? HEARD_SUBSCRIBED : HEARD_MESSAGE, channel, packet->size[0], 0,
                     world->now);
    }
}

static struct packet **first_packet(struct world *world) {
    struct packet **first = NULL;
    for (struct packet **place = &world->packets; *place; place = &(*place)->next) {
        bool earlier = !first || (*place)->at < (*first)->at ||
                       ((*place)->at == (*first)->at && (*place)->order < (*first)->order);
        first = earlier ? place : first;
    }
    return first;
}

int64_t network_next(struct world *world) {
    struct packet **first = first_packet(world);
    return first ? (*first)->at : NEVER;
}

/* Until when whoever is to get a packet is stopped. */
static int64_t stopped_until(const struct packet *packet) {
    return packet->kind == PACKET_REQUEST ? packet->peer->server->paused_until : packet->peer->process->paused_until;
}

/* Delivers one packet that is due; false when there is none. */
bool network_step(struct world *world) {
    struct packet **first = first_packet(world);
    if (!first || (*first)->at > world->now) {
        return false;
    }
    struct packet *packet = *first;
    if (stopped_until(packet) > world->now) {
        packet->at = stopped_until(packet);
        return true;
    }
    *first = packet->next;
    struct client *client = packet->peer->client;
    bool goes_on = packet->kind == PACKET_REQUEST;
    if (packet->kind == PACKET_REQUEST) {
        execute(world, packet);
    } else if (packet->kind == PACKET_REPLY) {
        answer(world, packet);
    } else if (packet->kind == PACKET_READY) {
        goes_on = connect_again(world, packet);
    } else {
        deliver_message(world, packet);
    }
    client_settle(client, world->now); /* what is done is on no list any more when others look */
    if (!goes_on) {
        free_packet(packet);
    }
    return true;
}
