/* Deliveries on a connection. Each item has an event of its own. The event takes the first item in the queue, so delays
 * do not change the order.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim_connection.h"

#include <stdlib.h>

#include "world.h"

int64_t network_delay(struct world *world) {
    struct plan *plan = &world->plan;
    int64_t delay = random_between(&world->random, plan->delay_min, plan->delay_max);
    if (plan->spikes && random_chance(&world->random, plan->spikes)) {
        delay *= random_between(&world->random, 2, 10);
    }
    if (world->slow_until > world->now) {
        delay += random_between(&world->random, 0, 60 * MILLISECOND);
    }
    return delay;
}

void sim_request_free(struct request *request) {
    free(request->texts);
    free(request);
}

void answer_free(struct answer *answer) {
    redis_reply_free(&answer->reply);
    free(answer);
}

struct answer *answer_new(enum answer_kind kind) {
    struct answer *answer = allocate(1, sizeof *answer);
    memset(answer, 0, sizeof *answer);
    answer->kind = kind;
    return answer;
}

static void drop_requests(struct connection *connection) {
    struct list_link *link;
    while ((link = list_pop(&connection->requests)) != NULL) {
        sim_request_free(container_of(link, struct request, link));
    }
}

static void drop_answers(struct connection *connection) {
    struct list_link *link;
    while ((link = list_pop(&connection->answers)) != NULL) {
        answer_free(container_of(link, struct answer, link));
    }
}

static void request_arrives(struct world *world, void *actor, uint64_t number) {
    struct connection *connection = actor;
    if (!connection->server_open || list_is_empty(&connection->requests)) {
        return;
    }
    int64_t blocked = connection->requests_stalled_until;
    if (world->server.paused_until > blocked) {
        blocked = world->server.paused_until;
    }
    if (blocked > world->now) {
        world_at(world, blocked, request_arrives, connection, number);
        return;
    }
    struct request *request = container_of(list_pop(&connection->requests), struct request, link);
    if (!connection->client_open && request->kind == REQUEST_SCRIPT) {
        cover(world, COVER_GHOST_EXECUTED);
    }
    server_serve(world, connection, request);
    sim_request_free(request);
    if (!connection->client_open && list_is_empty(&connection->requests)) {
        connection_drop(world, connection, false); /* the end of the stream */
    }
}

static void answer_arrives(struct world *world, void *actor, uint64_t number) {
    struct connection *connection = actor;
    if (!connection->client_open || list_is_empty(&connection->answers)) {
        return;
    }
    int64_t blocked = connection->answers_stalled_until;
    if (connection->client->paused_until > blocked) {
        blocked = connection->client->paused_until;
    }
    if (blocked > world->now) {
        world_at(world, blocked, answer_arrives, connection, number);
        return;
    }
    struct answer *answer = container_of(list_pop(&connection->answers), struct answer, link);
    if (answer->kind == ANSWER_END) {
        connection->client_open = false;
        connection->ended = true;
        link_ended(connection->client, connection);
    } else {
        link_answered(connection->client, connection, answer);
    }
    answer_free(answer);
}

struct connection *sim_connection_open(struct world *world, struct client *client, enum link_kind kind) {
    struct connection *connection = allocate(1, sizeof *connection);
    memset(connection, 0, sizeof *connection);
    connection->client = client;
    connection->kind = kind;
    connection->id = ++world->server.last_connection_id;
    connection->client_open = true;
    connection->server_open = true;
    list_init(&connection->requests);
    list_init(&connection->answers);
    connection->next = world->connections;
    world->connections = connection;
    return connection;
}

void connection_send(struct world *world, struct connection *connection, struct request *request) {
    if (!connection->server_open) { /* lost, since the client does not know yet */
        sim_request_free(request);
        return;
    }
    int64_t at = world->now + network_delay(world);
    connection->last_request_at = at > connection->last_request_at ? at : connection->last_request_at;
    list_append(&connection->requests, &request->link);
    world_at(world, connection->last_request_at, request_arrives, connection, 0);
}

void connection_answer(struct world *world, struct connection *connection, struct answer *answer) {
    if (!connection->client_open || (connection->swallowing && answer->kind != ANSWER_END)) {
        answer_free(answer);
        return;
    }
    int64_t at = world->now + network_delay(world);
    connection->last_answer_at = at > connection->last_answer_at ? at : connection->last_answer_at;
    list_append(&connection->answers, &answer->link);
    world_at(world, connection->last_answer_at, answer_arrives, connection, 0);
}

void connection_drop(struct world *world, struct connection *connection, bool notified) {
    if (!connection->server_open) {
        return;
    }
    connection->server_open = false;
    connection->subscribed = 0;
    drop_requests(connection);
    if (notified) {
        connection->answers_stalled_until = 0;
        connection_answer(world, connection, answer_new(ANSWER_END));
    }
}

void connection_abandon(struct world *world, struct connection *connection, int64_t late) {
    connection->client_open = false;
    drop_answers(connection);
    if (list_is_empty(&connection->requests)) {
        connection_drop(world, connection, false);
    } else if (world->now + late > connection->requests_stalled_until) {
        connection->requests_stalled_until = world->now + late;
    }
}

void connections_free(struct world *world) {
    while (world->connections) {
        struct connection *connection = world->connections;
        world->connections = connection->next;
        drop_requests(connection);
        drop_answers(connection);
        free(connection);
    }
}
