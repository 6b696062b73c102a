/* How a client's connections are opened, lost and opened again, as in the link layer: it asks the server for its
 * identity, kills the old connection, and goes on.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim_client.h"
#include "planted.h"
#include "world.h"

static const int64_t CONNECT_TIMEOUT = 400 * MILLISECOND;

static void connect_again(struct link *link);

static bool still_current(struct world *world, struct link *link, uint64_t generation, event_handler *handler) {
    if (link->generation != generation) {
        return false;
    }
    if (link->client->paused_until > world->now) {
        world_at(world, link->client->paused_until, handler, link, generation);
        return false;
    }
    return true;
}

static void lose_connection(struct link *link, int64_t late) {
    if (link->connection && (link->connection->client_open || link->connection->server_open)) {
        connection_abandon(link->client->world, link->connection, late);
    }
    link->connection = NULL;
}

/* Called when an attempt to connect failed, at any step. */
static void attempt_failed(struct link *link) {
    struct client *client = link->client;
    lose_connection(link, random_between(&client->world->random, 0, 300 * MILLISECOND));
    link->failures++;
    if (link->kind != LINK_MESSAGES) {
        engine_pipeline_failed(&client->engine, engine_pipeline(&client->engine, (enum pipeline_role)link->kind),
                               REDLATCH_UNREACHABLE, true, client_now(client));
    }
    connect_again(link);
    sim_client_finish_step(client);
}

static void connect_times_out(struct world *world, void *actor, uint64_t generation) {
    struct link *link = actor;
    if (still_current(world, link, generation, connect_times_out)) {
        cover(world, COVER_CONNECT_TIMED_OUT);
        attempt_failed(link);
    }
}

static void connect_refused(struct world *world, void *actor, uint64_t generation) {
    struct link *link = actor;
    if (still_current(world, link, generation, connect_refused)) {
        cover(world, COVER_CONNECT_REFUSED);
        attempt_failed(link);
    }
}

static void ask(struct link *link, enum request_kind kind, uint64_t number) {
    struct request *request = allocate(1, sizeof *request);
    memset(request, 0, sizeof *request);
    request->kind = kind;
    request->number = number;
    connection_send(link->client->world, link->connection, request);
}

static void connected(struct world *world, void *actor, uint64_t generation) {
    struct link *link = actor;
    if (!still_current(world, link, generation, connected)) {
        return;
    }
    if (!world->server.up) {
        connect_refused(world, actor, generation);
        return;
    }
    link->connection = sim_connection_open(world, link->client, link->kind);
    link->state = LINK_IDENTIFYING;
    ask(link, REQUEST_IDENTIFY, 0);
}

static void try_connect(struct world *world, void *actor, uint64_t generation) {
    struct link *link = actor;
    if (!still_current(world, link, generation, try_connect)) {
        return;
    }
    int64_t round_trip = 2 * network_delay(world);
    bool refused = !world->server.up || world->refuse_connects_until > world->now;
    bool hangs = world->hang_connects_until > world->now;
    link->state = LINK_CONNECTING;
    if (hangs || !refused) {
        world_at(world, world->now + CONNECT_TIMEOUT, connect_times_out, link, generation);
    }
    if (!hangs) {
        world_at(world, world->now + round_trip, refused ? connect_refused : connected, link, generation);
    }
}

/* Every attempt is a generation of its own, so that timers of an earlier attempt are ignored. */
static void connect_again(struct link *link) {
    struct world *world = link->client->world;
    link->state = LINK_DOWN;
    link->generation++;
    int64_t pause = link->failures == 0
                        ? 0
                        : random_between(&world->random, 2, link->failures < 5 ? 20 : 100) * MILLISECOND;
    world_at(world, world->now + pause, try_connect, link, link->generation);
}

void links_start(struct client *client) {
    for (int kind = 0; kind < LINK_COUNT; kind++) {
        struct link *link = &client->links[kind];
        link->client = client;
        link->kind = (enum link_kind)kind;
        link->used = kind <= PIPELINE_BACKGROUND || kind == LINK_MESSAGES ||
                     (uint32_t)(kind - PIPELINE_CALLERS_SECOND) + 1 < client->world->plan.caller_pipelines;
        if (link->used) {
            connect_again(link);
        }
    }
}

void link_broken(struct client *client, struct connection *connection) {
    struct link *link = &client->links[connection->kind];
    if (link->connection != connection) {
        return;
    }
    struct world *world = client->world;
    TRACE(world, "client %u: link %d broken", client->index, (int)link->kind);
    if (link->state != LINK_READY) {
        cover(world, COVER_SETUP_BROKEN);
        attempt_failed(link);
        return;
    }
    lose_connection(link, random_between(&world->random, 0, 400 * MILLISECOND));
    link->failures = 0;
    link->watched = false;
    if (link->kind == LINK_MESSAGES) {
        memset(client->subscribed_at, 0, sizeof client->subscribed_at);
        engine_subscriptions_lost(&client->engine, client->engine.server, client_now(client));
    } else {
        link->unanswered = client->engine.server->pipelines[link->kind].in_flight > 0;
        check_connection_ended(client);
        link->old_id = link->id;
        link->old_run = link->run;
        link->has_old = true;
        engine_pipeline_lost(&client->engine, engine_pipeline(&client->engine, (enum pipeline_role)link->kind),
                             client_now(client));
    }
    connect_again(link);
    sim_client_finish_step(client);
}

static void end_seen(struct world *world, void *actor, uint64_t number) {
    struct connection *connection = actor;
    struct client *client = connection->client;
    if (client->paused_until > world->now) {
        world_at(world, client->paused_until, end_seen, connection, number);
        return;
    }
    link_broken(client, connection);
}

void link_ended(struct client *client, struct connection *connection) {
    bool unused = connection->kind == LINK_MESSAGES ||
                  client->engine.server->pipelines[connection->kind].in_flight == 0;
    bool late = unused && connection->unseen_until > client->world->now;
    if (late) {
        world_at(client->world, connection->unseen_until, end_seen, connection, 0);
    } else {
        link_broken(client, connection);
    }
}

/* As the client layer does before it writes: ended_unused in pipeline_io.c. */
bool link_end_is_seen(const struct link *link) {
    const struct pipeline *pipeline = &link->client->engine.server->pipelines[link->kind];
    bool writes = pipeline->in_flight == 0 && !list_is_empty(&pipeline->unsent);
    return writes && link->connection->ended && !PLANTED(FAULT_END_UNSEEN);
}

static void death_noticed(struct world *world, void *actor, uint64_t number) {
    struct connection *connection = actor;
    struct client *client = connection->client;
    if (client->links[connection->kind].connection != connection) {
        return;
    }
    if (client->paused_until > world->now) {
        world_at(world, client->paused_until, death_noticed, connection, number);
        return;
    }
    cover(world, COVER_DEAD_PEER);
    link_broken(client, connection);
}

void link_expect_death(struct client *client, struct connection *connection) {
    struct world *world = client->world;
    world_at(world, world->now + world->plan.dead_peer_ms * MILLISECOND, death_noticed, connection, 0);
}

static void ready(struct link *link, enum resolution how) {
    struct client *client = link->client;
    struct world *world = client->world;
    static const enum cover_point points[] = {
        [RESOLVED_BY_KILL] = COVER_RESOLVED_BY_KILL,
        [RESOLVED_BY_RESTART] = COVER_RESOLVED_BY_RESTART,
        [RESOLUTION_DENIED] = COVER_RESOLUTION_DENIED,
    };
    TRACE(world, "client %u: link %d ready, settlement %d", client->index, (int)link->kind, (int)how);
    link->state = LINK_READY;
    link->ready_at = world->now;
    link->generation++;
    link->failures = 0;
    if (link->kind != LINK_MESSAGES) {
        if (link->has_old) {
            cover(world, points[how]);
        }
        link->has_old = false;
        check_resolution(client, link->kind, how);
        engine_pipeline_ready(&client->engine, engine_pipeline(&client->engine, (enum pipeline_role)link->kind), how,
                              client_now(client));
    }
}

static void identified(struct link *link, const struct answer *answer) {
    link->id = answer->number;
    link->run = answer->run;
    if (link->has_old && link->run != link->old_run) {
        ready(link, RESOLVED_BY_RESTART);
    } else if (!link->has_old || PLANTED(FAULT_RESOLVED_TOO_EARLY)) {
        ready(link, RESOLVED_BY_KILL);
    } else {
        link->state = LINK_KILLING;
        ask(link, REQUEST_KILL, link->old_id);
    }
}

/* Returns the subscription to a waiter's wake-up channel, or to the channel of the name. Returns NULL if the engine has
 * none. */
static struct subscription *find_subscription(const struct client *client, uint64_t number) {
    struct wait_queue *queue = client->names[number & ((1 << WAITER_SHIFT) - 1)]->queue;
    uint64_t waiter = number >> WAITER_SHIFT;
    for (int i = 0; queue && waiter && i < WAKE_CHANNELS; i++) {
        if (queue->wake_channels[i].waiter == waiter) {
            return &queue->wake_channels[i];
        }
    }
    return queue && !waiter ? &queue->subscription : NULL;
}

static void call_answered(struct client *client, const struct answer *answer) {
    struct subscription *call = find_subscription(client, answer->number);
    if (!call) {
        world_violation(client->world, "a wait queue was freed before its subscription was answered", "waiter %d",
                        (int)(answer->number >> WAITER_SHIFT));
    } else if (answer->kind == ANSWER_UNSUBSCRIBED) {
        engine_unsubscribed(&client->engine, call, client_now(client));
    } else if (answer->denied) {
        engine_subscription_denied(&client->engine, call, client_now(client));
    } else {
        engine_subscribed(&client->engine, call, client_now(client));
    }
}

static void subscription_answered(struct client *client, const struct answer *answer) {
    struct world *world = client->world;
    if (answer->number >> WAITER_SHIFT) {
        cover(world, COVER_FAIR_WAKE_CHANNELS);
        call_answered(client, answer);
        return;
    }
    uint32_t name = (uint32_t)answer->number;
    struct wait_queue *queue = client->names[name]->queue;
    if (!queue) {
        world_violation(world, "a wait queue was freed before its subscription was answered", "name %u", name);
        return;
    }
    if (answer->kind == ANSWER_UNSUBSCRIBED) {
        cover(world, COVER_UNSUBSCRIBED);
        client->subscribed_at[name] = 0;
        engine_unsubscribed(&client->engine, &queue->subscription, client_now(client));
    } else if (answer->denied) {
        engine_subscription_denied(&client->engine, &queue->subscription, client_now(client));
    } else {
        cover(world, client->was_subscribed[name] ? COVER_RESUBSCRIBED : COVER_SUBSCRIBED);
        client->was_subscribed[name] = true;
        client->subscribed_at[name] = world->now;
        engine_subscribed(&client->engine, &queue->subscription, client_now(client));
    }
}

void link_answered(struct client *client, struct connection *connection, struct answer *answer) {
    struct link *link = &client->links[connection->kind];
    struct world *world = client->world;
    if (link->connection != connection) {
        return;
    }
    switch (answer->kind) {
    case ANSWER_IDENTITY:
        identified(link, answer);
        break;
    case ANSWER_KILLED:
        ready(link, answer->denied && link->unanswered ? RESOLUTION_DENIED : RESOLVED_BY_KILL);
        break;
    case ANSWER_REPLY:
        link_reply(link, &answer->reply);
        break;
    case ANSWER_MESSAGE:
        cover(world, COVER_MESSAGE);
        TRACE(world, "client %u: message for lock %u", client->index,
              (unsigned)(answer->number & ((1 << WAITER_SHIFT) - 1)));
        struct subscription *subscription = find_subscription(client, answer->number);
        if (subscription) {
            engine_message(&client->engine, subscription, answer->message, client_now(client));
        }
        break;
    default:
        subscription_answered(client, answer);
        break;
    }
    sim_client_finish_step(client);
}

bool links_ready(const struct client *client) {
    for (int kind = 0; kind < LINK_COUNT; kind++) {
        if (client->links[kind].used && client->links[kind].state != LINK_READY) {
            return false;
        }
    }
    return true;
}
