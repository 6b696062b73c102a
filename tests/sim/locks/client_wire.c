/* Converts the engine's commands to requests, and answers to the engine's replies.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "engine_reply.h"
#include "sim_client.h"
#include "texts.h"
#include "world.h"

static struct request *encode(const struct engine *engine, const struct command *command) {
    struct request *request = allocate(1, sizeof *request);
    memset(request, 0, sizeof *request);
    request->kind = REQUEST_SCRIPT;
    request->script = command_script(command);
    request->as_text = command->as_text;
    request->renewal = command->kind == COMMAND_RENEW;
    request->many = request->renewal || command->entries;
    request->texts = texts_of_command(engine, command, &request->key_count, &request->argument_count);
    return request;
}

static void trace_sent(struct client *client, enum link_kind kind, const struct request *request, bool repeated) {
    const struct redis_text *texts = request->texts;
    char line[TRACE_LINE_SIZE] = "";
    size_t used = 0;
    if (client->world->trace.mode == TRACE_OFF) {
        return;
    }
    for (uint32_t i = 0; i < request->key_count + request->argument_count && used < 150; i++) {
        size_t skip = texts[i].size > 37 && texts[i].bytes[36] == ':' ? 37 : 0;
        used += (size_t)snprintf(line + used, sizeof line - used, " %.*s", (int)(texts[i].size - skip),
                                 texts[i].bytes + skip);
    }
    TRACE(client->world, "client %u: pipeline %d sends %s%s%s", client->index, (int)kind,
          scripts_embedded[request->script].name, line, repeated ? " (again)" : "");
}

/* The timer of the oldest command without a reply. When it is due, the server counts as dead. */
static void peer_timer(struct world *world, void *actor, uint64_t generation) {
    struct link *link = actor;
    struct client *client = link->client;
    if (link->generation != generation || link->state != LINK_READY) {
        return;
    }
    struct list_link *first = list_first(&client->engine.server->pipelines[link->kind].sent);
    link->watched = first != NULL;
    if (!first) {
        return;
    }
    int64_t sent_at = container_of(first, struct command, link)->sent_at;
    int64_t due = clock_true(&client->clock, sent_at + world->plan.dead_peer_ms * MILLISECOND);
    if (client->paused_until > due) {
        due = client->paused_until;
    }
    if (due > world->now) {
        world_at(world, due, peer_timer, link, generation);
        return;
    }
    cover(world, COVER_DEAD_PEER);
    link_broken(client, link->connection);
}

void link_flush(struct link *link) {
    struct client *client = link->client;
    struct world *world = client->world;
    struct command *command;
    if (link->state != LINK_READY) {
        return;
    }
    if (link_end_is_seen(link)) {
        link_broken(client, link->connection);
        return;
    }
    while ((command = engine_next_to_send(&client->engine,
                                          engine_pipeline(&client->engine, (enum pipeline_role)link->kind),
                                          client_now(client))) != NULL) {
        struct request *request = encode(&client->engine, command);
        check_sent(client, command);
        trace_sent(client, link->kind, request, command->repeated);
        connection_send(world, link->connection, request);
        if (!link->watched) {
            link->watched = true;
            world_at(world, world->now + world->plan.dead_peer_ms * MILLISECOND, peer_timer, link, link->generation);
        }
    }
}

/* Returns the index of a resource's lock. */
static uint64_t lock_number(const struct client *client, const struct resource *resource) {
    uint32_t number = world_name(client->world, (struct redis_text){resource->name, resource->name_size});
    while (client->names[number] != resource) {
        number++;
    }
    return number;
}

void link_subscribe(struct link *link) {
    struct client *client = link->client;
    struct list_link *first;
    while (link->state == LINK_READY && (first = list_pop(&client->engine.server->subscription_changes)) != NULL) {
        struct subscription *subscription = container_of(first, struct subscription, link);
        const struct resource *resource = subscription->queue->resource;
        struct request *request = allocate(1, sizeof *request);
        memset(request, 0, sizeof *request);
        request->kind = subscription->state == SUBSCRIPTION_LEAVING ? REQUEST_UNSUBSCRIBE : REQUEST_SUBSCRIBE;
        request->number = lock_number(client, resource);
        if (request->kind == REQUEST_UNSUBSCRIBE && !subscription->waiter) {
            client->subscribed_at[request->number] = 0;
        }
        request->number |= subscription->waiter << WAITER_SHIFT;
        TRACE(client->world, "client %u: %s lock %u", client->index,
              request->kind == REQUEST_SUBSCRIBE ? "subscribes to" : "unsubscribes from",
              (unsigned)(request->number & ((1 << WAITER_SHIFT) - 1)));
        connection_send(client->world, link->connection, request);
    }
}

static void trace_reply(struct client *client, enum link_kind kind, const struct redis_reply *reply) {
    struct world *world = client->world;
    if (world->trace.mode == TRACE_OFF) {
        return;
    }
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    redis_reply_print(file, reply);
    fclose(file);
    TRACE(world, "client %u: pipeline %d hears %.80s", client->index, (int)kind, text);
    free(text);
}

void link_reply(struct link *link, const struct redis_reply *reply) {
    struct client *client = link->client;
    struct reply elements[REPLY_ELEMENTS_MAX];
    struct reply converted = engine_reply(reply, elements);
    trace_reply(client, link->kind, reply);
    struct command *command = container_of(list_first(&client->engine.server->pipelines[link->kind].sent),
                                           struct command, link);
    check_reply(client, command, &converted);
    engine_replied(&client->engine, engine_pipeline(&client->engine, (enum pipeline_role)link->kind), &converted,
                   client_now(client));
}
