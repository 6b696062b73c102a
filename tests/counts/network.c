/* The server, its messages, and what becomes of each packet.
 * SPDX-License-Identifier: Apache-2.0 */
#include "counts.h"
#include "rejected_scripts.h"

static struct client *client_of(const struct packet *packet) {
    return container_of(packet->pipelines, struct client, pipelines);
}

/* There is one channel: a message needs no name. */
static void tell(struct world *world, struct client *client, enum packet_kind kind) {
    packets_post(&world->packets, packet_new(&client->pipelines, kind, PIPELINE_BACKGROUND),
                 world->now + packets_delay(&world->packets));
}

/* A subscription that is wanted is there after a moment; one that is left, at once. */
static void change_subscriptions(struct world *world, struct client *client) {
    struct list_link *link;
    while ((link = list_pop(&client->engine.subscription_changes)) != NULL) {
        struct subscription *subscription = container_of(link, struct subscription, link);
        if (subscription->state == SUBSCRIPTION_LEAVING) {
            client->subscribed = false;
            engine_unsubscribed(&client->engine, subscription, world->now);
        } else if (subscription->state == SUBSCRIPTION_WANTED) {
            tell(world, client, PACKET_SUBSCRIBED);
        }
    }
}

void network_flush(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct client *client = &world->clients[i];
        for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
            packets_send(&world->packets, &client->pipelines, &client->engine, pipeline, world->now);
        }
        change_subscriptions(world, client);
    }
}

void network_cut(struct world *world, struct client *client, uint32_t pipeline) {
    packets_cut(&world->packets, &client->pipelines, &client->engine, pipeline, world->now);
}

void network_cut_messages(struct world *world, struct client *client) {
    client->subscribed = false;
    packets_drop(&world->packets, &client->pipelines, PACKET_MESSAGE, PIPELINE_COUNT);
    engine_subscriptions_lost(&client->engine, world->now);
}

int network_publish(void *context, bool sharded, struct redis_text channel, struct redis_text message) {
    struct world *world = context;
    int notified = 0;
    (void)sharded;
    int64_t number;
    if (channel.size == 0 || !integer_parse(message, &number)) {
        fail(world, "a message is no number");
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        if (world->clients[i].subscribed) {
            tell(world, &world->clients[i], PACKET_MESSAGE);
            notified++;
        }
    }
    return notified;
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

/* Now and then the script is run for a user, too, who lacks one of its commands. */
static void run_refused(struct world *world, const struct packet *packet) {
    if (!random_chance(&world->random, 20)) {
        return;
    }
    const char *command = writing_commands[random_below(&world->random, (uint32_t)writing_command_count)];
    if (refused_script_writes(world->scripts, packet->script, world->keyspace, packet->texts, packet->key_count,
                              packet->argument_count, command)) {
        fail(world, "%s has written although it was refused %s", scripts_embedded[packet->script].name, command);
    }
}

/* The server carries a request out, and whatever it changed is judged. */
static void execute(struct world *world, struct packet *packet) {
    enum script_error_reply error_reply = world->now < world->refuse_until ? REFUSE_MEMORY : REFUSE_NOTHING;
    if (world->now < world->busy_until) {
        redis_reply_error(&packet->reply, "BUSY Redis is busy running a script. You can only call SCRIPT KILL.");
        packets_return(&world->packets, packet, world->now);
        return;
    }
    run_refused(world, packet);
    int64_t before = network_call(world, "get", "n", NULL);
    world->existed = network_call(world, "exists", "n", NULL) == 1;
    packet_run(packet, world->scripts, error_reply, world->keyspace, world->now);
    judge_answer(world, packet);
    judge_effect(world, packet, network_call(world, "get", "n", NULL) - before);
    packets_return(&world->packets, packet, world->now);
}

static void deliver_message(struct world *world, const struct packet *packet) {
    struct client *client = client_of(packet);
    struct wait_queue *queue = client->resource->queue;
    if (queue && packet->kind == PACKET_SUBSCRIBED) {
        client->subscribed = true;
        engine_subscribed(&client->engine, &queue->subscription, world->now);
    } else if (queue && client->subscribed) {
        engine_message(&client->engine, &queue->subscription, 0, world->now);
    }
}

/* Delivers the next packet that is due by `until`; false when there is none. */
bool network_step(struct world *world, int64_t until) {
    struct packet *packet = packets_first(&world->packets);
    if (!packet || packet->at > until) {
        return false;
    }
    packets_take(&world->packets, packet);
    world->now = packet->at > world->now ? packet->at : world->now;
    if (packet->kind == PACKET_REQUEST) {
        execute(world, packet);
        return true;
    }
    struct engine *engine = &client_of(packet)->engine;
    if (packet->kind == PACKET_REPLY) {
        packet_answer(packet, engine, world->now);
    } else if (packet->kind == PACKET_READY) {
        packets_reconnect(&world->packets, packet, engine, world->denied, world->now);
    } else {
        deliver_message(world, packet);
    }
    packet_free(packet);
    return true;
}
