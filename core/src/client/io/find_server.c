/* Finding the server: a look-up of the URL's host, or a search for the master. A client has one search at a time, which
 * whoever waits for it steps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "find_server.h"

#include <poll.h>
#include <stdio.h>

#include "client_lock.h"
#include "cluster.h"
#include "pipeline_io.h"
#include "planted.h"

/* How soon a search that failed is followed by another one; of a cluster, any search for which no caller waits: a
 * redirection says by itself where a name is, and nodes that do not agree redirect without end. */
static const int64_t SEARCH_PAUSE = 50 * MILLISECOND;

/* Who waits for the search's socket rechecks as often: another thread may have stepped it. */
static const int64_t SHARED_PAUSE = 20 * MILLISECOND;

/* Whoever waits for a look-up asks about it more often: this long after its end nobody does. */
static const int64_t LOOKUP_FORGOTTEN = SECOND;

/* Takes the addresses of a pipeline that is connected: a look-up may take long, and a renewal may be due. */
static bool borrow_addresses(struct pipeline_io *io) {
    for (int i = 0; i < PIPELINE_COUNT && !io->must_lookup; i++) {
        const struct connection *other = &io->node->ios[i].connection;
        if (other->state == CONNECTION_READY && !io->node->ios[i].moves) { /* else it leads to where the client was */
            io->connection.addresses = other->addresses;
            return true;
        }
    }
    return false;
}

static const char *lookup_failure(int status) {
    switch (status) {
    case REDLATCH_AGAIN:
        return "the host name was not resolved in time";
    case REDLATCH_SYSTEM:
        return "no thread can be started: expected one that resolves the host name";
    case REDLATCH_NO_MEMORY:
        return "no memory to resolve the host name";
    default:
        return "the host name has no address";
    }
}

/* Looks the URL's host up. */
static int find_host(struct pipeline_io *io, int64_t until, int64_t now) {
    struct client *client = io->client;
    struct connection *connection = &io->connection;
    const struct uri *where = connection->settings->uri;
    if (resolve_at_once(where, &connection->addresses)) {
        return REDLATCH_OK;
    }
    bool borrowed = borrow_addresses(io);
    if (io->lookup && !PLANTED(FAULT_OLD_LOOKUP_BELIEVED) && (borrowed || now > io->lookup_until + LOOKUP_FORGOTTEN)) {
        lookup_drop(io->lookup); /* else the next connection would go where the name led when this one began */
        io->lookup = NULL;
    }
    if (borrowed) {
        return REDLATCH_OK;
    }
    if (!io->lookup) {
        io->lookup_until = now + client->connection_settings.connect_timeout;
    }
    until = until < io->lookup_until ? until : io->lookup_until;
    if (now < until) {
        client_unlock(client);
    }
    struct addresses found;
    int status = resolve(where, &io->lookup, until, &client->stopping, &found);
    if (now < until) {
        client_lock(client);
        now = system_now();
    }
    if (status == REDLATCH_OK) {
        connection->addresses = found;
        return REDLATCH_OK;
    }
    bool late = status == REDLATCH_AGAIN;
    if (late && now < io->lookup_until && !atomic_load(&client->stopping)) {
        return REDLATCH_AGAIN;
    }
    lookup_drop(io->lookup);
    io->lookup = NULL;
    connection_fail(connection, lookup_failure(status), now);
    status = late ? REDLATCH_UNREACHABLE : status;
    io_failed(io, status, now);
    return status;
}

/* The master was found: all who wanted it searched for go there. */
static void found(struct client *client, int64_t now) {
    if (client->cluster) {
        client->node.current.must_search = false;
        client->node.current.search_from = 0;
        client->node.current.doubted_from = now + SEARCH_PAUSE;
        cluster_found(client, now);
        io_follow_routes(client, now);
        return;
    }
    bool moved = current_server_found(client, now);
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        struct pipeline_io *io = &client->node.ios[i];
        io->searched = io->searched || io->must_lookup;
        io->must_lookup = false;
    }
    if (moved) {
        io_move_all(&client->node, NULL, now);
    }
}

/* One step of the search, which is begun if there is none: AGAIN, OK, or how it failed, be it a moment ago. */
static int search(struct client *client, int64_t now) {
    struct current_server *server = &client->node.current;
    if (!search_is_running(server->search)) {
        if (now < server->search_from) {
            return server->search_failure;
        }
        search_begin(server->search, now);
    }
    int status = search_step(server->search, now);
    if (status == REDLATCH_OK) {
        found(client, now);
    } else if (status != REDLATCH_AGAIN) {
        server->search_from = now + SEARCH_PAUSE;
        server->search_failure = status;
    }
    return status;
}

/* Without the mutex: others step the search meanwhile, and may end it. */
static int64_t wait_for_search(struct client *client, int64_t until, int64_t now) {
    int64_t next = search_next_time(client->node.current.search, now);
    next = next < now + SHARED_PAUSE ? next : now + SHARED_PAUSE;
    short events;
    int fd = search_descriptor(client->node.current.search, &events);
    struct pollfd socket = {fd, events, 0};
    client_unlock(client);
    system_poll(&socket, 1, next < until ? next : until);
    client_lock(client);
    return system_now();
}

static bool knows_master(const struct pipeline_io *io) {
    return current_server_is_known(&io->client->node.current) && !io->must_lookup;
}

/* The topology is known: what is left to be sent is for this node, or for one that nobody knows. */
static int find_node(struct pipeline_io *io, int64_t until, int64_t now) {
    io->must_lookup = false;
    io->searched = true; /* whether the node that is named is there, connecting to it shows */
    if (!io_has_work(io)) {
        return REDLATCH_OK;
    }
    if (io->node != &io->client->node) {
        return find_host(io, until, now);
    }
    connection_fail(&io->connection, "no node of the cluster serves the slot of the name", now);
    io_failed(io, REDLATCH_NOT_WRITABLE, now);
    return REDLATCH_NOT_WRITABLE;
}

static int find_master(struct pipeline_io *io, int64_t until, int64_t now) {
    struct client *client = io->client;
    int status = knows_master(io) ? REDLATCH_OK : search(client, now);
    while (status == REDLATCH_AGAIN && now < until && !atomic_load(&client->stopping)) {
        now = wait_for_search(client, until, now);
        status = knows_master(io) ? REDLATCH_OK : search(client, now);
    }
    if (status == REDLATCH_OK && client->cluster) {
        return find_node(io, until, now);
    }
    if (status == REDLATCH_OK) {
        io->connection.addresses = client->node.current.addresses;
    } else if (status != REDLATCH_AGAIN) {
        connection_fail(&io->connection, "", now);
        snprintf(io->connection.detail, sizeof io->connection.detail, "%s", client->node.current.search->discovery.why);
        io->connection.refused = status == REDLATCH_AUTHENTICATION; /* by the sentinels, or by the master */
        io->connection.credentials = client->credentials.version;
        authentication_failed(client, &io->connection);
        io_failed(io, status, now);
    }
    return status;
}

int io_lookup(struct pipeline_io *io, int64_t until) {
    int64_t now = system_now();
    if (io->connection.state != CONNECTION_CLOSED || io->connection.addresses.count > 0 || now < io_retry_at(io)) {
        return REDLATCH_OK;
    }
    bool by_search = current_server_is_searched(&io->node->current) || (io->client->cluster && io->must_lookup);
    return by_search ? find_master(io, until, now) : find_host(io, until, now);
}

void server_search_step(struct client *client, int64_t now) {
    struct current_server *server = &client->node.current;
    bool due = server->must_search && now >= server->doubted_from;
    if (!current_server_is_searched(server) || (!due && !search_is_running(server->search))) {
        return;
    }
    int status = search(client, now);
    bool failed = status != REDLATCH_OK && status != REDLATCH_AGAIN;
    server->must_search = server->must_search && !(failed && now >= server->search_until);
}

int64_t server_search_next_time(const struct client *client, int64_t now) {
    const struct current_server *server = &client->node.current;
    if (!current_server_is_searched(server)) {
        return NEVER;
    }
    if (search_is_running(server->search)) {
        return search_next_time(server->search, now);
    }
    int64_t from = server->search_from > server->doubted_from ? server->search_from : server->doubted_from;
    return server->must_search ? from : NEVER;
}

int server_search_descriptor(const struct client *client, short *events_out) {
    *events_out = 0;
    return current_server_is_searched(&client->node.current)
               ? search_descriptor(client->node.current.search, events_out)
               : -1;
}
