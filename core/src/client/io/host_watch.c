/* Repeats the lookup of the URL's host name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "host_watch.h"

#include <string.h>

#include "client.h"
#include "pipeline_io.h"
#include "planted.h"

/* How often a lookup under way is checked. */
static const int64_t LOOKUP_PAUSE = 20 * MILLISECOND;

/* The shortest time between two lookups. */
static const int64_t RECONNECT_PAUSE = SECOND;

void host_watch_init(struct client *client, int64_t interval) {
    struct host_watch *watch = &client->host_watch;
    struct addresses numeric;
    memset(watch, 0, sizeof *watch);
    watch->interval = interval;
    watch->by_search = client->uri.servers.count > 0 && !client->uri.service;
    watch->by_name = client->uri.servers.count == 0 && !resolve_at_once(&client->uri, &numeric);
    watch->next_at = system_now() + interval;
}

void host_watch_close(struct client *client) {
    lookup_drop(client->host_watch.lookup);
    client->host_watch.lookup = NULL;
}

static bool is_needed(const struct client *client) {
    const struct host_watch *watch = &client->host_watch;
    bool can = watch->by_name || client->cluster ||
               (watch->by_search && current_server_is_known(&client->node.current));
    return can && engine_is_in_use(&client->engine);
}

/* Returns when the next lookup is due. A reconnect brings it forward, but never closer than RECONNECT_PAUSE: a name
 * whose addresses alternate must not cause a loop. */
static int64_t due_at(const struct client *client) {
    const struct host_watch *watch = &client->host_watch;
    int64_t soon = watch->last_at + RECONNECT_PAUSE;
    bool reconnected = watch->reconnects != client->engine.stats.reconnects;
    return reconnected && soon < watch->next_at ? soon : watch->next_at;
}

/* Returns whether the connection leads, or is about to lead, to none of the name's addresses. */
static bool leads_elsewhere(const struct connection *connection, const struct addresses *found) {
    if (connection->address >= connection->addresses.count) {
        return false;
    }
    const struct address *own = &connection->addresses.list[connection->address];
    for (int i = 0; i < found->count; i++) {
        if (address_equal(own, &found->list[i])) {
            return false;
        }
    }
    return true;
}

static void compare(struct client *client, const struct addresses *found, int64_t now) {
    bool moved = leads_elsewhere(&client->node.subscriber.connection, found);
    for (const struct pipeline_io *io = client->node.ios; io; io = io_next(io)) {
        moved = moved || leads_elsewhere(&io->connection, found);
    }
    if (moved && !PLANTED(FAULT_NAME_NOT_WATCHED)) { /* the next connections lead to the name's addresses */
        io_move_all(&client->node, NULL, now);
    }
}

void host_watch_step(struct client *client, int64_t now) {
    struct host_watch *watch = &client->host_watch;
    if (!is_needed(client) || (!watch->lookup && now < due_at(client))) {
        return;
    }
    if (!watch->lookup) {
        watch->last_at = now;
        watch->next_at = now + watch->interval;
        watch->reconnects = client->engine.stats.reconnects;
    }
    if (watch->by_search) {
        current_server_request_search(client, now);
        return;
    }
    struct addresses found;
    if (resolve(&client->uri, &watch->lookup, 0, &client->stopping, &found) == REDLATCH_OK) {
        compare(client, &found, now); /* a failed lookup says nothing about the server */
    }
}

int64_t host_watch_next_time(const struct client *client, int64_t now) {
    if (!is_needed(client)) {
        return NEVER;
    }
    return client->host_watch.lookup ? now + LOOKUP_PAUSE : due_at(client);
}
