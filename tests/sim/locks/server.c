/* The simulated Redis server: it serves requests, publishes messages, crashes and restarts.
 * SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include "kinds.h"
#include "rejected_scripts.h"
#include "texts.h"
#include "world.h"

void server_touch(struct world *world) {
    keyspace_set_time(world->server.keyspace, clock_local(&world->server.clock, world->now) / MILLISECOND);
}

int64_t server_expiry(const struct model_server *server, int64_t at_ms) {
    return clock_true(&server->clock, (at_ms + 1) * MILLISECOND);
}

static int publish(struct world *world, uint32_t name, int64_t message) {
    int receivers = 0;
    for (struct connection *each = world->connections; each; each = each->next) {
        if (each->server_open && (each->subscribed & (1u << name))) {
            struct answer *answer = answer_new(ANSWER_MESSAGE);
            answer->number = name;
            answer->message = message;
            connection_answer(world, each, answer);
            receivers++;
        }
    }
    return receivers;
}

int server_publish(struct world *world, uint32_t name, int64_t message) {
    int receivers = 0;
    if (!world_has_values(world)) {
        return publish(world, name, message);
    }
    for (uint32_t other = 0; other < world->plan.names; other++) { /* the whole group has one channel */
        receivers += world_group(world, other) == world_group(world, name) ? publish(world, other, message) : 0;
    }
    return receivers;
}

/* Publishes the wake-up of a waiter on its wake-up channel. Returns the number of receivers. */
static int publish_call(struct world *world, uint32_t client, uint64_t number) {
    int receivers = 0;
    for (struct connection *each = world->connections; each; each = each->next) {
        for (int i = 0; each->server_open && each->client->index == client && i < CALLS_MAX; i++) {
            if (each->calls[i] == number) {
                struct answer *answer = answer_new(ANSWER_MESSAGE);
                answer->number = number;
                connection_answer(world, each, answer);
                receivers++;
            }
        }
    }
    return receivers;
}

static void change_call(struct world *world, struct connection *connection, uint64_t from, uint64_t to) {
    size_t i = 0;
    while (i < CALLS_MAX && connection->calls[i] != from) {
        i++;
    }
    if (from != 0 && i == CALLS_MAX) {
        return; /* it was not subscribed */
    }
    if (world_has_room(world, "CALLS_MAX", i, CALLS_MAX)) {
        connection->calls[i] = to;
    }
}

/* Returns the prefix with which a channel begins: that of a name's kind. */
static const char *channel_prefix(const struct world *world, struct redis_text channel) {
    const char *expected = NULL;
    for (uint32_t name = 0; name < world->plan.names; name++) {
        expected = kind_of_number(world_kind(world, name))->channel_prefix;
        if (channel.size > strlen(expected) && memcmp(channel.bytes, expected, strlen(expected)) == 0) {
            break;
        }
    }
    return expected;
}

static int received(void *context, bool sharded, struct redis_text channel, struct redis_text message) {
    struct world *world = context;
    const char *expected = channel_prefix(world, channel);
    size_t prefix = strlen(expected) + 1; /* with the brace after it */
    char last_message = world_has_read_write(world) ? '1' : '0';
    bool known = !sharded && channel.size > prefix + 1 && memcmp(channel.bytes, expected, prefix - 1) == 0 &&
                 message.size == 1 && message.bytes[0] >= '0' && message.bytes[0] <= last_message;
    if (!known) {
        world_violation(world, "message on an unexpected channel", "%.*s", (int)channel.size, channel.bytes);
        return 0;
    }
    const char *end = memchr(channel.bytes, '}', channel.size);
    struct redis_text name = {channel.bytes + prefix, (size_t)(end - channel.bytes) - prefix};
    size_t rest = channel.size - (size_t)(end + 1 - channel.bytes);
    if (rest == 0) {
        return server_publish(world, world_name(world, name), message.bytes[0] - '0');
    }
    if (world->plan.lock_kind != REDLATCH_FAIR || rest < 39 || end[1] != ':') {
        world_violation(world, "message on an unexpected channel", "%.*s", (int)channel.size, channel.bytes);
        return 0;
    }
    uint64_t waiter = 0;
    for (const char *digit = end + 2 + 37; digit < channel.bytes + channel.size; digit++) {
        waiter = waiter * 10 + (uint64_t)(*digit - '0');
    }
    return publish_call(world, (uint32_t)(end[2 + 35] - '0'), world_name(world, name) | waiter << WAITER_SHIFT);
}

void server_start(struct world *world) {
    struct model_server *server = &world->server;
    server->keyspace = keyspace_new();
    keyspace_on_publish(server->keyspace, received, world);
    server->up = true;
    server->run = 1;
    server->clock.local_base = INT64_C(1700000000000000);
    if (world->plan.drift) {
        server->clock.drift_ppm = random_between(&world->random, -5000, 5000);
    }
}

void server_free(struct model_server *server) {
    keyspace_free(server->keyspace);
    if (server->snapshot) {
        keyspace_free(server->snapshot);
    }
}

void server_crash(struct world *world, struct keyspace *data) {
    struct model_server *server = &world->server;
    for (struct connection *each = world->connections; each; each = each->next) {
        bool client_learns = random_chance(&world->random, 800);
        if (each->server_open && !client_learns && each->client_open) {
            link_expect_death(each->client, each);
        }
        connection_drop(world, each, client_learns);
    }
    if (data != server->keyspace) {
        keyspace_free(server->keyspace);
        server->keyspace = data;
    }
    memset(server->knows, 0, sizeof server->knows);
    server->up = false;
    server->outage = OUTAGE_NONE;
}

void server_restart(struct world *world) {
    struct model_server *server = &world->server;
    server->up = true;
    server->run++;
    server->last_connection_id = 0;
    server_touch(world);
}

/* Returns whether the server refuses a request before it runs the script. Sets the reply if so. */
static bool refused_outright(struct model_server *server, const struct request *request, struct redis_reply *reply) {
    if (server->outage == OUTAGE_LOADING) {
        redis_reply_error(reply, "LOADING Redis is loading the dataset in memory");
    } else if (server->outage == OUTAGE_BUSY) {
        redis_reply_error(reply,
                          "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.");
    } else if (server->outage == OUTAGE_READ_ONLY && !server->outage_in_script) {
        redis_reply_error(reply, "READONLY You can't write against a read only replica.");
    } else if (server->outage == OUTAGE_MISCONF && !server->outage_in_script) {
        redis_reply_error(
            reply, "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.");
    } else if (!request->as_text && !server->knows[request->script]) {
        redis_reply_error(reply, "NOSCRIPT No matching script. Please use EVAL.");
    } else {
        return false;
    }
    return true;
}

static enum script_error_reply error_reply_in_script(const struct model_server *server) {
    switch (server->outage) {
    case OUTAGE_MEMORY:
        return REFUSE_MEMORY;
    case OUTAGE_MISCONF:
        return REFUSE_WRITES;
    case OUTAGE_READ_ONLY:
        return REFUSE_REPLICA;
    case OUTAGE_PUBLISH:
        return REFUSE_PUBLISH;
    default:
        return REFUSE_NOTHING;
    }
}

static void run_script(struct world *world, const struct request *request, struct redis_reply *reply) {
    struct model_server *server = &world->server;
    server->knows[request->script] = true;
    script_set_run(world->scripts, request->script, error_reply_in_script(server), server->keyspace, request->texts,
                   request->key_count, request->argument_count, reply);
}

/* Sometimes runs the script also for a user who may not use one of its commands. */
static void run_refused(struct world *world, const struct request *request) {
    if (!random_chance(&world->random, 20)) {
        return;
    }
    const char *command = writing_commands[random_below(&world->random, (uint32_t)writing_command_count)];
    if (refused_script_writes(world->scripts, request->script, world->server.keyspace, request->texts,
                              request->key_count, request->argument_count, command)) {
        world_violation(world, "a script that was refused a command has written", "%s without %s",
                        scripts_embedded[request->script].name, command);
    }
}

/* Runs a copy of a renewal that arrives again, long after the first. Nobody waits for its reply. */
static void late_renewal(struct world *world, void *actor, uint64_t number) {
    struct request *request = actor;
    (void)number;
    if (world->server.up) {
        struct redis_reply reply = {0};
        server_touch(world);
        watch_before(world, request);
        run_script(world, request, &reply);
        watch_after(world, request, &reply);
        watch_prolonged(world, request);
        redis_reply_free(&reply);
        cover(world, NEMESIS_LATE_RENEWAL);
    }
    list_remove(&request->link);
    sim_request_free(request);
}

static struct request *copy_request(const struct request *request) {
    struct request *copy = allocate(1, sizeof *copy);
    *copy = *request;
    copy->texts = texts_copy(request->texts, request->key_count + request->argument_count);
    return copy;
}

static void serve_script(struct world *world, struct connection *connection, const struct request *request) {
    struct model_server *server = &world->server;
    struct answer *answer = answer_new(ANSWER_REPLY);
    server_touch(world);
    watch_before(world, request);
    if (refused_outright(server, request, &answer->reply)) {
        connection_answer(world, connection, answer);
        return;
    }
    run_refused(world, request);
    run_script(world, request, &answer->reply);
    watch_after(world, request, &answer->reply);
    if (server->doubling_until > world->now && answer->reply.kind != REDIS_ERROR) {
        struct redis_reply again = {0};
        answers_before(world, request);
        run_script(world, request, &again);
        watch_after(world, request, &again);
        redis_reply_free(&again);
        cover(world, NEMESIS_DUPLICATE);
    }
    if (request->renewal && server->late_renewals_until > world->now) {
        struct request *copy = copy_request(request);
        list_append(&world->late_requests, &copy->link);
        world_at(world, world->now + random_between(&world->random, 0, SECOND), late_renewal, copy, 0);
    }
    connection_answer(world, connection, answer);
}

static struct connection *find_connection(struct world *world, uint64_t id) {
    struct connection *each = world->connections;
    while (each && !(each->server_open && each->id == id)) {
        each = each->next;
    }
    return each;
}

void server_serve(struct world *world, struct connection *connection, const struct request *request) {
    struct answer *answer = NULL;
    struct connection *victim;
    switch (request->kind) {
    case REQUEST_SCRIPT:
        serve_script(world, connection, request);
        return;
    case REQUEST_IDENTIFY:
        answer = answer_new(ANSWER_IDENTITY);
        answer->number = connection->id;
        answer->run = world->server.run;
        break;
    case REQUEST_KILL:
        answer = answer_new(ANSWER_KILLED);
        answer->denied = world->plan.kill_denied;
        victim = answer->denied ? NULL : find_connection(world, request->number);
        if (victim) {
            if (!list_is_empty(&victim->requests)) {
                cover(world, COVER_GHOST_KILLED);
            }
            if (victim->client != connection->client || victim->kind != connection->kind || victim == connection) {
                world_violation(world, "KILL of a stranger's connection", "id %d", (int)request->number);
            }
            connection_drop(world, victim, true);
        }
        break;
    case REQUEST_SUBSCRIBE:
        answer = answer_new(ANSWER_SUBSCRIBED);
        answer->number = request->number;
        answer->denied = world->plan.subscribe_denied;
        if (request->number >> WAITER_SHIFT) {
            change_call(world, connection, 0, answer->denied ? 0 : request->number);
        } else {
            connection->subscribed |= answer->denied ? 0 : 1u << request->number;
        }
        break;
    case REQUEST_UNSUBSCRIBE:
        answer = answer_new(ANSWER_UNSUBSCRIBED);
        answer->number = request->number;
        if (request->number >> WAITER_SHIFT) {
            change_call(world, connection, request->number, 0);
        } else {
            connection->subscribed &= ~(1u << request->number);
        }
        break;
    }
    connection_answer(world, connection, answer);
}
