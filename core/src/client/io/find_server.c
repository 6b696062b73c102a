/* Finds the server: by a lookup of the URL's host, or by a search for the master or the topology. A client has one
 * search at a time. Each thread that waits for the search steps it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "find_server.h"

#include <poll.h>
#include <stdio.h>

#include "client_lock.h"
#include "cluster.h"
#include "pipeline_io.h"
#include "planted.h"

/* The pause between a failed search and the next one. In a cluster also the pause before a search that no caller waits
 * for: a redirection itself names the node, and nodes that disagree redirect without end. */
static const int64_t SEARCH_PAUSE = 50 * MILLISECOND;

/* After failures for FAILING_LONG the background thread pauses for longer between its searches. */
static const int64_t FAILING_LONG = 5 * SECOND;
static const int64_t LONG_SEARCH_PAUSE = SECOND;

/* A thread that waits for the search's socket rechecks this often: another thread may have stepped the search. */
static const int64_t SHARED_PAUSE = 20 * MILLISECOND;

/* A lookup that is past its deadline by this much has no thread that waits for it: that thread would have ended it. */
static const int64_t LOOKUP_FORGOTTEN = SECOND;

/* Takes the addresses of another pipeline, which is connected: a lookup may take long, and a renewal may be due.
 * Returns false if there is none. */
static bool borrow_addresses(struct pipeline_io *io) {
    for (int i = 0; i < PIPELINE_COUNT && !io->must_lookup; i++) {
        const struct connection *other = &io->node->ios[i].connection;
        if (other->state == CONNECTION_READY && !io->node->ios[i].moves) { /* else it leads to the old server */
            io->connection.addresses = other->addresses;
            io->connection.address = other->address; /* those before it may be silent */
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

/* Looks up the host of the URL, or of the node. */
static int find_host(struct pipeline_io *io, int64_t until, int64_t now) {
    struct client *client = io->client;
    struct connection *connection = &io->connection;
    const struct uri *where = connection->settings->uri;
    if (resolve_at_once(where, &connection->addresses)) {
        return REDLATCH_OK;
    }
    bool borrowed = borrow_addresses(io);
    if (io->lookup && !PLANTED(FAULT_OLD_LOOKUP_BELIEVED) && (borrowed || now > io->lookup_until + LOOKUP_FORGOTTEN)) {
        lookup_drop(io->lookup); /* its addresses would be outdated when the next connection uses them */
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

/* Called when a search has found the master or the topology. All pipelines that waited for it use the result. */
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

static void search_failed(struct current_server *server, int status, int64_t now) {
    server->failing_since = server->failing_since ? server->failing_since : now;
    server->search_failure = status;
    server->search_from = now + SEARCH_PAUSE;
    server->repeat_from = now + (now - server->failing_since < FAILING_LONG ? SEARCH_PAUSE : LONG_SEARCH_PAUSE);
}

/* Steps the search; begins one if none is running. Returns OK, AGAIN, or why the search failed, now or less than
 * SEARCH_PAUSE ago. */
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
        server->failing_since = 0;
        found(client, now);
    } else if (status != REDLATCH_AGAIN) {
        search_failed(server, status, now);
    }
    return status;
}

/* Waits for the search without the mutex, and returns the time. Other threads may step and end the search meanwhile. */
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

/* Called when the topology is known. Commands that are still here are for this node, or, on client->node, for a slot
 * that no known node serves. */
static int find_node(struct pipeline_io *io, int64_t until, int64_t now) {
    io->must_lookup = false;
    io->searched = true; /* connecting will show whether the named node is there */
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
        io->connection.refused = status == REDLATCH_AUTHENTICATION && client->node.current.search->refused;
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
    return io_needs_search(io) ? find_master(io, until, now) : find_host(io, until, now);
}

/* Returns when the background thread begins a search; NEVER if none is requested. */
static int64_t begins_at(const struct current_server *server) {
    int64_t from = server->repeat_from > server->doubted_from ? server->repeat_from : server->doubted_from;
    return server->must_search ? from : NEVER;
}

void server_search_step(struct client *client, int64_t now) {
    struct current_server *server = &client->node.current;
    bool due = now >= begins_at(server);
    if (!current_server_is_searched(server) || (!due && !search_is_running(server->search))) {
        return;
    }
    int status = search(client, now);
    bool failed = status != REDLATCH_OK && status != REDLATCH_AGAIN;
    if (failed && now >= server->search_until) {
        server->must_search = false;
        server->failing_since = 0;
    }
}

int64_t server_search_next_time(const struct client *client, int64_t now) {
    const struct current_server *server = &client->node.current;
    if (!current_server_is_searched(server)) {
        return NEVER;
    }
    if (search_is_running(server->search)) {
        return search_next_time(server->search, now);
    }
    return begins_at(server);
}

int server_search_descriptor(const struct client *client, short *events_out) {
    *events_out = 0;
    return current_server_is_searched(&client->node.current)
               ? search_descriptor(client->node.current.search, events_out)
               : -1;
}
