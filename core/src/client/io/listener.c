/* Receives the announcements of a sentinel.
 * SPDX-License-Identifier: Apache-2.0 */
#include "listener.h"

#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "planted.h"

/* A connection that was silent for this long is checked with PING. */
static const int64_t QUIET_LIMIT = 10 * SECOND;

/* How often a lookup under way is checked, and how soon another sentinel is tried. */
static const int64_t LOOKUP_PAUSE = 20 * MILLISECOND;
static const int64_t NEXT_PAUSE = SECOND / 4;

enum { MESSAGE_MAX = 1 << 16 };

bool listener_init(struct client *client) {
    if (!client->uri.service) {
        return true;
    }
    struct listener *listener = calloc(1, sizeof *listener);
    if (!listener) {
        return false;
    }
    listener->settings = search_sentinel_settings(&client->sentinel_credentials, &client->connection_settings);
    listener->settings.uri = &listener->where;
    listener->where.host = listener->sentinel.host;
    connection_init(&listener->connection, &listener->settings, true);
    client->listener = listener;
    return true;
}

void listener_close(struct client *client) {
    struct listener *listener = client->listener;
    if (listener) {
        connection_close(&listener->connection);
        lookup_drop(listener->lookup);
        listener->lookup = NULL;
    }
}

void listener_free(struct client *client) {
    struct listener *listener = client->listener;
    if (listener) {
        listener_close(client);
        reply_holder_clear(&listener->holder);
        connection_free(&listener->connection);
        free(listener);
    }
}

static bool is_wanted(const struct client *client) {
    return current_server_is_known(&client->node.current) && engine_is_in_use(&client->engine);
}

/* Gives this sentinel up for now and turns to the next one. */
static void turn(struct listener *listener, int64_t now) {
    listener->next++;
    connection_forget_addresses(&listener->connection);
    listener->connection.retry_at = PLANTED(FAULT_SENTINEL_NOT_REPLACED) ? NEVER : now + NEXT_PAUSE;
}

static void broken(struct listener *listener, const char *why, int64_t now) {
    connection_fail(&listener->connection, why, now);
    listener->pinged_at = 0;
    turn(listener, now);
}

/* Called when no connection could be made. A further address of the name is tried at once; after the last one, the next
 * sentinel. */
static void connect_failed(struct listener *listener, int64_t now) {
    if (listener->connection.address == 0) {
        turn(listener, now);
    }
}

static bool find_addresses(struct client *client, struct listener *listener, int64_t now) {
    struct addresses *addresses = &listener->connection.addresses;
    const struct endpoints *sentinels = &client->node.current.search->discovery.sources;
    if (addresses->count > 0) {
        return true;
    }
    if (!listener->lookup) {
        listener->sentinel = sentinels->list[listener->next % sentinels->count];
        listener->where.port = listener->sentinel.port;
    }
    if (resolve_at_once(&listener->where, addresses)) {
        return true;
    }
    int status = resolve(&listener->where, &listener->lookup, 0, &client->stopping, addresses);
    if (status == REDLATCH_AGAIN) {
        listener->connection.retry_at = now + LOOKUP_PAUSE;
    } else if (status != REDLATCH_OK) {
        turn(listener, now);
    }
    return status == REDLATCH_OK;
}

/* Asks for the master first: a failover may have been before the subscription. */
static bool subscribe(const struct client *client, struct output *output) {
    const char *service = client->uri.service;
    const char *master[] = {"SENTINEL", "get-master-addr-by-name", service};
    const size_t master_sizes[] = {8, 23, strlen(service)};
    static const char *const channel[] = {"SUBSCRIBE", "+switch-master"};
    static const size_t channel_sizes[] = {9, 14};
    return output_arguments(output, 3, master, master_sizes) && output_arguments(output, 2, channel, channel_sizes);
}

static void announced(struct client *client, const struct reply *host, const struct reply *port, int64_t now) {
    struct endpoint master;
    if (search_address(&client->uri.address_map, host, port, &master) && !PLANTED(FAULT_SWITCH_IGNORED) &&
        !endpoint_equal(&master, &client->node.current.endpoint)) {
        current_server_request_search(client, now);
    }
}

/* Takes a message "service old-host old-port host port", of any service that the sentinel watches. */
static void switched(struct client *client, const struct reply *message, int64_t now) {
    struct reply parts[5];
    size_t count = 0;
    size_t begin = 0;
    for (size_t at = 0; at <= message->size && count < 5; at++) {
        if (at == message->size || message->text[at] == ' ') {
            parts[count++] = (struct reply){.kind = REPLY_STRING, .text = message->text + begin, .size = at - begin};
            begin = at + 1;
        }
    }
    const char *service = client->uri.service;
    if (count == 5 && parts[0].size == strlen(service) && memcmp(parts[0].text, service, parts[0].size) == 0) {
        announced(client, &parts[3], &parts[4], now);
    }
}

static void received(struct client *client, const struct reply *reply, int64_t now) {
    bool array = reply->kind == REPLY_ARRAY;
    if (array && reply->count == 2) {
        announced(client, &reply->elements[0], &reply->elements[1], now);
    } else if (array && reply->count == 3 && reply->elements[2].kind == REPLY_STRING) {
        switched(client, &reply->elements[2], now);
    }
}

static void read_messages(struct client *client, struct listener *listener, int64_t now) {
    struct connection *connection = &listener->connection;
    static const struct reply_bounds bounds = {.size_max = MESSAGE_MAX};
    char bytes[4096];
    ssize_t got = connection_read(connection, bytes, sizeof bytes);
    if (got < 0) {
        broken(listener, "the sentinel closed the connection", now);
        return;
    }
    int status = got > 0 ? connection_feed(connection, bytes, (size_t)got) : REDLATCH_OK;
    while (status == REDLATCH_OK && connection_next_reply(connection, &bounds, &listener->holder, &status)) {
        listener->received_at = now;
        listener->pinged_at = 0;
        received(client, &listener->holder.reply, now);
    }
    if (status != REDLATCH_OK) {
        broken(listener, "what the sentinel sends is not the Redis protocol", now);
    }
}

static void check_peer(struct listener *listener, int64_t now) {
    static const char *const ping[] = {"PING"};
    static const size_t sizes[] = {4};
    if (listener->pinged_at && now - listener->pinged_at >= listener->settings.dead_peer_timeout) {
        broken(listener, "no reply for too long", now);
    } else if (!listener->pinged_at && now - listener->received_at >= QUIET_LIMIT &&
               output_arguments(&listener->connection.output, 1, ping, sizes)) {
        listener->pinged_at = now;
    }
}

void listener_step(struct client *client, int64_t now) {
    struct listener *listener = client->listener;
    if (!listener) {
        return;
    }
    struct connection *connection = &listener->connection;
    if (connection->state == CONNECTION_CLOSED && is_wanted(client) && now >= connection->retry_at &&
        find_addresses(client, listener, now) && connection_open(connection, now) != REDLATCH_OK) {
        connect_failed(listener, now);
    }
    if (connection->state == CONNECTION_OPENING || connection->state == CONNECTION_GREETING) {
        int status = connection_advance(connection, now);
        listener->received_at = now;
        if (status == REDLATCH_OK && !subscribe(client, &connection->output)) {
            broken(listener, "out of memory", now);
        } else if (status != REDLATCH_OK && status != REDLATCH_AGAIN) {
            connect_failed(listener, now);
        }
    }
    if (connection->state == CONNECTION_READY) {
        read_messages(client, listener, now);
    }
    if (connection->state == CONNECTION_READY) {
        check_peer(listener, now);
    }
    if (connection->state == CONNECTION_READY && connection_write(connection) != REDLATCH_OK) {
        broken(listener, "the connection broke", now);
    }
}

int64_t listener_next_time(const struct client *client) {
    const struct listener *listener = client->listener;
    if (!listener || (listener->connection.state == CONNECTION_CLOSED && !is_wanted(client))) {
        return NEVER;
    }
    if (listener->connection.state == CONNECTION_CLOSED) {
        return listener->connection.retry_at;
    }
    if (listener->connection.state != CONNECTION_READY) {
        return listener->connection.deadline;
    }
    return listener->pinged_at ? listener->pinged_at + listener->settings.dead_peer_timeout
                               : listener->received_at + QUIET_LIMIT;
}

int listener_descriptor(const struct client *client, short *events_out) {
    *events_out = client->listener ? connection_events(&client->listener->connection) : 0;
    return client->listener ? client->listener->connection.fd : -1;
}
