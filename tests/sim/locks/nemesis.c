/* Carries out faults and their ends.
 * SPDX-License-Identifier: Apache-2.0 */
#include "nemesis.h"

#include "world.h"

static void outage_until(struct world *world, int64_t until) {
    world->troubled_until = until > world->troubled_until ? until : world->troubled_until;
}

static void later(struct world *world, int64_t delay, event_handler *handler, void *actor, uint64_t number) {
    outage_until(world, world->now + delay);
    world_at(world, world->now + delay, handler, actor, number);
}

/* --------------------------------------------------------------------------------------------------- connections -- */

/* Draws an open connection, preferably one with requests or answers on their way. */
static struct connection *victim(struct world *world) {
    struct connection *chosen = NULL;
    uint32_t weight = 0;
    for (struct connection *each = world->connections; each; each = each->next) {
        if (each->client_open && each->server_open) {
            uint32_t own = list_is_empty(&each->requests) && list_is_empty(&each->answers) ? 1 : 30;
            weight += own;
            if (random_below(&world->random, weight) < own) {
                chosen = each;
            }
        }
    }
    return chosen;
}

/* Draws a pipeline's connection without commands in flight, preferably of a client with holds. */
static struct connection *unused_victim(struct world *world) {
    struct connection *chosen = NULL;
    uint32_t weight = 0;
    for (struct connection *each = world->connections; each; each = each->next) {
        struct client *client = each->client;
        bool current = each->kind != LINK_MESSAGES && client->links[each->kind].connection == each &&
                       client->links[each->kind].state == LINK_READY;
        if (current && each->client_open && each->server_open &&
            client->engine.server->pipelines[each->kind].in_flight == 0) {
            uint32_t own = client->engine.stats.held > 0 ? 30 : 1;
            weight += own;
            if (random_below(&world->random, weight) < own) {
                chosen = each;
            }
        }
    }
    return chosen;
}

static void drop_answers(struct connection *connection) {
    struct list_link *link;
    while ((link = list_pop(&connection->answers)) != NULL) {
        answer_free(container_of(link, struct answer, link));
    }
}

static void cut(struct world *world, void *actor, uint64_t number) {
    struct connection *connection = actor;
    (void)number;
    if (connection->server_open) {
        connection_drop(world, connection, true);
    } else if (connection->client_open) {
        connection_answer(world, connection, answer_new(ANSWER_END));
    }
}

static void harm_connection(struct world *world, const struct planned_fault *fault, struct connection *connection) {
    int64_t until = world->now + fault->duration;
    switch (fault->kind) {
    case NEMESIS_RESET:
        drop_answers(connection);
        cut(world, connection, 0);
        break;
    case NEMESIS_SWALLOW:
        connection->swallowing = true;
        drop_answers(connection);
        later(world, fault->duration / 8, cut, connection, 0);
        break;
    case NEMESIS_LOSE_REQUESTS:
        connection_drop(world, connection, false);
        later(world, fault->duration / 8, cut, connection, 0);
        break;
    case NEMESIS_HALF_OPEN:
        connection_drop(world, connection, false);
        drop_answers(connection);
        link_expect_death(connection->client, connection);
        outage_until(world, world->now + world->plan.dead_peer_ms * MILLISECOND);
        break;
    case NEMESIS_GHOST:
        connection->requests_stalled_until = until;
        drop_answers(connection);
        connection_answer(world, connection, answer_new(ANSWER_END));
        connection->swallowing = true;
        break;
    default: /* NEMESIS_STALL */
        if (random_chance(&world->random, 700)) {
            connection->requests_stalled_until = until;
        }
        if (random_chance(&world->random, 700)) {
            connection->answers_stalled_until = until;
        }
        if (connection->kind == LINK_MESSAGES && fault->duration > world->plan.dead_peer_ms * MILLISECOND) {
            link_expect_death(connection->client, connection);
        }
        break;
    }
    TRACE(world, "FAULT: %s (client %u link %d)", cover_words(fault->kind), connection->client->index,
          (int)connection->kind);
}

/* -------------------------------------------------------------------------------------------------------- server -- */

static void outage_ends(struct world *world, void *actor, uint64_t number) {
    (void)actor;
    (void)number;
    if (world->server.outage != OUTAGE_NONE && world->server.outage_until <= world->now) {
        world->server.outage = OUTAGE_NONE;
        TRACE(world, "server refuses no longer");
    }
}

static void restart(struct world *world, void *actor, uint64_t number) {
    (void)actor;
    (void)number;
    server_restart(world);
    TRACE(world, "server is up again");
    if (random_chance(&world->random, 300)) {
        world->server.outage = OUTAGE_LOADING;
        world->server.outage_until = world->now + random_between(&world->random, 0, 100 * MILLISECOND);
        later(world, world->server.outage_until - world->now, outage_ends, NULL, 0);
    }
}

static void crash(struct world *world, enum cover_point kind, int64_t duration) {
    if (!world->server.up) {
        return;
    }
    struct keyspace *data = world->server.keyspace;
    if (kind == NEMESIS_RESTART_SNAPSHOT && world->server.snapshot) {
        data = keyspace_copy(world->server.snapshot);
    } else if (kind != NEMESIS_RESTART_FULL) {
        data = keyspace_copy(world->server.keyspace);
        keyspace_clear(data);
    }
    server_crash(world, data);
    watch_data_replaced(world);
    outage_until(world, world->now + world->plan.dead_peer_ms * MILLISECOND); /* some clients are not told */
    later(world, duration, restart, NULL, 0);
}

static void begin_outage(struct world *world, enum server_outage outage, int64_t duration) {
    world->server.outage = outage;
    world->server.outage_in_script = random_chance(&world->random, 600);
    world->server.outage_until = world->now + duration;
}

static void set_clock(struct world *world, int64_t by) {
    clock_step(&world->server.clock, world->now, by);
    server_touch(world);
    watch_clock_step(world);
    world->clock_set_back += by < 0 ? -by : 0;
}

static void put_other_type_right(struct world *world, void *actor, uint64_t name) {
    (void)actor;
    server_touch(world);
    watch_name(world, (uint32_t)name);
    if (world->checker.wire[name].other_type) {
        keyspace_delete(world->server.keyspace, world->names[name]);
        watch_external(world, (uint32_t)name, false);
    }
}

static void put_other_type(struct world *world, int64_t duration) {
    uint32_t name = random_below(&world->random, world->plan.names);
    server_touch(world);
    watch_name(world, name);
    if (world_kind(world, name) == REDLATCH_PLAIN) {
        keyspace_delete(world->server.keyspace, world->names[name]);
        keyspace_hset(world->server.keyspace, world->names[name], redis_text("not"), redis_text("a lock"));
    } else {
        keyspace_set(world->server.keyspace, world->names[name], redis_text("not a lock"));
    }
    keyspace_pexpireat(world->server.keyspace, world->names[name],
                       keyspace_time(world->server.keyspace) + duration / MILLISECOND + 1);
    watch_external(world, name, false);
    later(world, duration, put_other_type_right, NULL, name);
}

static void delete_keys(struct world *world, bool all) {
    server_touch(world);
    for (uint32_t name = 0; name < world->plan.names; name++) {
        watch_name(world, name);
        if (all || random_chance(&world->random, 500)) {
            keyspace_delete(world->server.keyspace, world->names[name]);
            watch_external(world, name, false);
        }
    }
}

static void take_away(struct world *world, void *actor, uint64_t all) {
    (void)actor;
    delete_keys(world, all);
}

/* Ends a connection that is not used. Its client notices late, and meanwhile its locks may be deleted. */
static void end_unused(struct world *world, const struct planned_fault *fault) {
    struct connection *connection = unused_victim(world);
    if (!connection) {
        return;
    }
    TRACE(world, "FAULT: %s (client %u link %d)", cover_words(fault->kind), connection->client->index,
          (int)connection->kind);
    connection->unseen_until = world->now + fault->duration;
    connection_drop(world, connection, true);
    if (random_chance(&world->random, 700)) {
        later(world, random_between(&world->random, 0, fault->duration), take_away, NULL, 1);
    }
}

static bool harm_server(struct world *world, const struct planned_fault *fault) {
    struct model_server *server = &world->server;
    switch (fault->kind) {
    case NEMESIS_PAUSE_SERVER:
        server->paused_until = world->now + fault->duration;
        return true;
    case NEMESIS_RESTART_EMPTY:
    case NEMESIS_RESTART_FULL:
    case NEMESIS_RESTART_SNAPSHOT:
        crash(world, fault->kind, fault->duration / 4);
        return true;
    case NEMESIS_SCRIPT_FLUSH:
        memset(server->knows, 0, sizeof server->knows);
        return true;
    case NEMESIS_FLUSHALL:
        delete_keys(world, true);
        return true;
    case NEMESIS_DELETE:
        delete_keys(world, false);
        return true;
    case NEMESIS_WRONG_TYPE:
        put_other_type(world, fault->duration);
        return true;
    case NEMESIS_CLOCK_FORWARD:
        set_clock(world, random_between(&world->random, 1, 3000) * MILLISECOND);
        return true;
    case NEMESIS_CLOCK_BACK:
        set_clock(world, -random_between(&world->random, 1, 3000) * MILLISECOND);
        return true;
    case NEMESIS_DUPLICATE:
        server->doubling_until = world->now + fault->duration;
        return true;
    case NEMESIS_IDLE_END:
        end_unused(world, fault);
        return true;
    case NEMESIS_LATE_RENEWAL:
        server->late_renewals_until = world->now + fault->duration;
        return true;
    default:
        return false;
    }
}

static bool begin_refusing(struct world *world, const struct planned_fault *fault) {
    static const struct {
        enum cover_point kind;
        enum server_outage outage;
    } troubles[] = {
        {NEMESIS_LOADING, OUTAGE_LOADING},      {NEMESIS_BUSY, OUTAGE_BUSY},
        {NEMESIS_OUT_OF_MEMORY, OUTAGE_MEMORY}, {NEMESIS_MISCONF, OUTAGE_MISCONF},
        {NEMESIS_READ_ONLY, OUTAGE_READ_ONLY},  {NEMESIS_ACL_IN_SCRIPT, OUTAGE_PUBLISH},
    };
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        if (troubles[i].kind == fault->kind) {
            begin_outage(world, troubles[i].outage, fault->duration);
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------------- clients -- */

static void resume(struct world *world, void *actor, uint64_t number) {
    struct client *client = actor;
    (void)number;
    if (client->paused_until <= world->now) {
        client->resumed_at = world->now;
        TRACE(world, "client %u: runs on", client->index);
    }
}

static void pause_client(struct world *world, int64_t duration) {
    struct client *client = world->clients[random_below(&world->random, world->plan.clients)];
    if (client->paused_until < world->now + duration) {
        client->paused_until = world->now + duration;
    }
    TRACE(world, "client %u: stopped for %d ms", client->index, (int)(duration / MILLISECOND));
    later(world, duration, resume, client, 0);
}

/* ---------------------------------------------------------------------------------------------------------- all -- */

static void harm_network(struct world *world, const struct planned_fault *fault) {
    int64_t until = world->now + fault->duration;
    struct connection *connection = victim(world);
    switch (fault->kind) {
    case NEMESIS_SLOW:
        world->slow_until = until;
        outage_until(world, until + 70 * MILLISECOND); /* what was sent last is still on its way */
        return;
    case NEMESIS_REFUSE_CONNECT:
    case NEMESIS_HANG_CONNECT:
        if (fault->kind == NEMESIS_REFUSE_CONNECT) {
            world->refuse_connects_until = until;
        } else {
            world->hang_connects_until = until;
        }
        if (connection) {
            cut(world, connection, 0);
        }
        return;
    default:
        if (connection) {
            harm_connection(world, fault, connection);
        }
        return;
    }
}

static void strike(struct world *world, void *actor, uint64_t number) {
    const struct planned_fault *fault = actor;
    (void)number;
    if (fault->kind != NEMESIS_DUPLICATE &&
        fault->kind != NEMESIS_LATE_RENEWAL) { /* counted when a command is repeated */
        cover(world, fault->kind);
    }
    TRACE(world, "FAULT: %s, %d ms", cover_words(fault->kind), (int)(fault->duration / MILLISECOND));
    outage_until(world, world->now + fault->duration);
    if (random_chance(&world->random, 300)) {
        if (world->server.snapshot) {
            keyspace_free(world->server.snapshot);
        }
        world->server.snapshot = keyspace_copy(world->server.keyspace);
    }
    if (fault->kind == NEMESIS_PAUSE_CLIENT || fault->kind == NEMESIS_PAUSE_CLIENT_LONG) {
        pause_client(world, fault->duration);
    } else if (begin_refusing(world, fault)) {
        later(world, fault->duration, outage_ends, NULL, 0);
    } else if (!harm_server(world, fault)) {
        harm_network(world, fault);
    }
}

void nemesis_start(struct world *world) {
    for (uint32_t i = 0; i < world->plan.fault_count; i++) {
        world_at(world, world->plan.faults[i].at, strike, &world->plan.faults[i], 0);
    }
}
