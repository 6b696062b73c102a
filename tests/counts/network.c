/* Requests, replies and messages on their way; the server; broken connections and what comes late of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "counts.h"

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
}

static int64_t delay(struct world *world) {
    return random_between(&world->random, 100, random_chance(&world->random, 50) ? 60000 : 3000);
}

struct packet_sink {
    struct argument_sink sink;
    struct packet *packet;
};

static void append(struct argument_sink *sink, const struct argument_part *parts, size_t part_count) {
    struct packet *packet = container_of(sink, struct packet_sink, sink)->packet;
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
    *text = '\0';
}

static struct packet *new_packet(uint32_t client, uint32_t lane, uint32_t epoch) {
    struct packet *packet = allocate(1, sizeof *packet);
    memset(packet, 0, sizeof *packet);
    packet->client = client;
    packet->lane = lane;
    packet->epoch = epoch;
    return packet;
}

static void send_all(struct world *world, uint32_t number, uint32_t lane) {
    struct client *client = &world->clients[number];
    struct command *command;
    while (client->up[lane] && (command = engine_next_to_send(&client->engine, lane, world->now)) != NULL) {
        struct packet *packet = new_packet(number, lane, client->epoch[lane]);
        struct packet_sink sink = {{append}, packet};
        uint32_t arguments;
        packet->script = command_script(command);
        command_counts(command, &packet->keys, &arguments);
        command_write(&client->engine, command, &sink.sink);
        int64_t at = world->now + delay(world);
        client->arrival[lane] = at > client->arrival[lane] ? at : client->arrival[lane] + 1;
        post(world, packet, client->arrival[lane]);
    }
}

/* A subscription that is wanted is there after a moment; one that is left, at once. */
static void change_subscriptions(struct world *world, uint32_t number) {
    struct client *client = &world->clients[number];
    struct list_link *link;
    while ((link = list_pop(&client->engine.subscription_changes)) != NULL) {
        struct subscription *subscription = container_of(link, struct subscription, link);
        if (subscription->state == SUBSCRIPTION_LEAVING) {
            client->subscribed = false;
            engine_unsubscribed(&client->engine, subscription, world->now);
        } else if (subscription->state == SUBSCRIPTION_WANTED) {
            struct packet *packet = new_packet(number, 0, 0);
            packet->is_message = true;
            packet->is_ready = true;
            post(world, packet, world->now + delay(world));
        }
    }
}

void network_flush(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t lane = 0; lane < LANE_COUNT; lane++) {
            send_all(world, i, lane);
        }
        change_subscriptions(world, i);
    }
}

void network_cut(struct world *world, uint32_t number, uint32_t lane) {
    struct client *client = &world->clients[number];
    if (!client->up[lane]) {
        return;
    }
    client->up[lane] = false;
    client->epoch[lane]++;
    engine_lane_lost(&client->engine, lane, world->now);
    struct packet *packet = new_packet(number, lane, client->epoch[lane]);
    packet->is_ready = true;
    post(world, packet, world->now + random_between(&world->random, 500, 400000));
}

void network_cut_messages(struct world *world, uint32_t number) {
    struct client *client = &world->clients[number];
    client->subscribed = false;
    for (struct packet **place = &world->packets; *place;) {
        struct packet *packet = *place;
        if (packet->is_message && !packet->is_ready && packet->client == number) {
            *place = packet->next;
            free_packet(packet);
        } else {
            place = &packet->next;
        }
    }
    engine_subscriptions_lost(&client->engine, world->now);
}

int network_publish(void *context, bool sharded, struct redis_text channel, struct redis_text message) {
    struct world *world = context;
    int told = 0;
    (void)sharded;
    int64_t number;
    if (channel.size == 0 || !integer_parse(message, &number)) {
        fail(world, "a message is no number");
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        if (world->clients[i].subscribed) {
            struct packet *packet = new_packet(i, 0, 0);
            packet->is_message = true;
            post(world, packet, world->now + delay(world));
            told++;
        }
    }
    return told;
}

int64_t network_call(struct world *world, const char *command, const char *key, const char *argument) {
    struct redis_text words[] = {redis_text(command), redis_text(key), redis_text(argument ? argument : "")};
    struct redis_reply reply = {0};
    int64_t number = 0;
    keyspace_set_time(world->keyspace, world->now / MILLISECOND);
    keyspace_call(world->keyspace, words, argument ? 3 : 2, &reply);
    if (reply.kind == REDIS_INTEGER) {
        number = reply.integer;
    } else if (reply.kind == REDIS_BULK) {
        integer_parse(redis_reply_view(&reply), &number);
    }
    redis_reply_free(&reply);
    return number;
}

/* The server carries a request out, unless its connection was killed before it came. */
static void execute(struct world *world, struct packet *packet) {
    struct redis_text words[WORDS_MAX];
    struct client *client = &world->clients[packet->client];
    for (uint32_t i = 0; i < packet->words; i++) {
        words[i] = (struct redis_text){packet->text[i], packet->size[i]};
    }
    enum script_refusal refusal = world->now < world->refuse_until ? REFUSE_MEMORY : REFUSE_NOTHING;
    int64_t before = network_call(world, "get", "n", NULL);
    world->existed = network_call(world, "exists", "n", NULL) == 1;
    keyspace_set_time(world->keyspace, world->now / MILLISECOND);
    script_set_run(world->scripts, packet->script, refusal, world->keyspace, words, packet->keys,
                   packet->words - packet->keys, &packet->reply);
    judge_answer(world, packet);
    judge_effect(world, packet, network_call(world, "get", "n", NULL) - before);
    if (packet->epoch != client->epoch[packet->lane]) { /* nobody is there for the reply any more */
        free_packet(packet);
        return;
    }
    packet->is_reply = true;
    int64_t at = world->now + delay(world);
    client->returned[packet->lane] = at > client->returned[packet->lane] ? at : client->returned[packet->lane] + 1;
    post(world, packet, client->returned[packet->lane]);
}

static void answer(struct world *world, struct packet *packet) {
    static const enum reply_kind kinds[] = {[REDIS_NIL] = REPLY_NIL,     [REDIS_INTEGER] = REPLY_INTEGER,
                                            [REDIS_STATUS] = REPLY_STRING, [REDIS_BULK] = REPLY_STRING,
                                            [REDIS_ERROR] = REPLY_ERROR, [REDIS_ARRAY] = REPLY_ARRAY};
    struct client *client = &world->clients[packet->client];
    struct reply elements[RENEWAL_BATCH_SIZE];
    const struct redis_reply *from = &packet->reply;
    struct reply reply = {.kind = kinds[from->kind], .integer = from->integer};
    if (packet->epoch == client->epoch[packet->lane]) {
        if (from->kind == REDIS_ARRAY) {
            for (size_t i = 0; i < from->size; i++) {
                const struct redis_reply *element = &from->elements[i];
                elements[i] = (struct reply){.kind = kinds[element->kind], .integer = element->integer};
            }
            reply.elements = elements;
            reply.count = from->size;
        } else if (from->kind != REDIS_INTEGER && from->kind != REDIS_NIL) {
            reply.text = from->text;
            reply.size = from->size;
        }
        engine_replied(&client->engine, packet->lane, &reply, world->now);
    }
    free_packet(packet);
}

/* A new connection. Where the old one can be killed, what it had on the way is gone; else it still comes. */
static void connect_again(struct world *world, struct packet *ready) {
    struct client *client = &world->clients[ready->client];
    for (struct packet **place = &world->packets; *place && !world->denied;) {
        struct packet *packet = *place;
        bool old = !packet->is_message && !packet->is_reply && !packet->is_ready && packet->client == ready->client &&
                   packet->lane == ready->lane;
        if (old) {
            *place = packet->next;
            free_packet(packet);
        } else {
            place = &packet->next;
        }
    }
    for (struct packet *packet = world->packets; packet && world->denied; packet = packet->next) {
        if (!packet->is_message && !packet->is_reply && !packet->is_ready && packet->client == ready->client &&
            packet->lane == ready->lane) {
            packet->at += random_between(&world->random, 0, 3 * SECOND);
        }
    }
    client->up[ready->lane] = true;
    engine_lane_ready(&client->engine, ready->lane, world->denied ? SETTLEMENT_DENIED : SETTLED_BY_KILL, world->now);
    free_packet(ready);
}

static void deliver_message(struct world *world, struct packet *packet) {
    struct client *client = &world->clients[packet->client];
    struct contest *contest = client->resource->contest;
    if (contest && packet->is_ready) {
        client->subscribed = true;
        engine_subscribed(&client->engine, &contest->subscription, world->now);
    } else if (contest && client->subscribed) {
        engine_message(&client->engine, &contest->subscription, 0, world->now);
    }
    free_packet(packet);
}

/* Delivers the next packet that is due by `until`; false when there is none. */
bool network_step(struct world *world, int64_t until) {
    struct packet **first = NULL;
    for (struct packet **place = &world->packets; *place; place = &(*place)->next) {
        bool earlier = !first || (*place)->at < (*first)->at ||
                       ((*place)->at == (*first)->at && (*place)->order < (*first)->order);
        first = earlier ? place : first;
    }
    if (!first || (*first)->at > until) {
        return false;
    }
    struct packet *packet = *first;
    *first = packet->next;
    world->now = packet->at > world->now ? packet->at : world->now;
    if (packet->is_message) {
        deliver_message(world, packet);
    } else if (packet->is_ready) {
        connect_again(world, packet);
    } else if (packet->is_reply) {
        answer(world, packet);
    } else {
        execute(world, packet);
    }
    return true;
}
