/* The server that a client is on: its process and its address.
 * SPDX-License-Identifier: Apache-2.0 */
#include "current_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "cluster.h"
#include "planted.h"

/* More than RETURNS_MAX moves back to processes that were left, within RETURNS_WITHIN and the time of as many lookups
 * of the name, are no failovers: a proxy or a name balances. */
enum { RETURNS_MAX = 4 };
static const int64_t RETURNS_WITHIN = 10 * SECOND;

/* How long a search goes on if no caller waits for it. */
static const int64_t SEARCH_LIMIT = 30 * SECOND;

/* If a lookup after READONLY finds a replica again, the URL is taken to name a replica for this long. */
static const int64_t READ_ONLY_BELIEVED = 5 * SECOND;

bool current_server_init(struct client *client) {
    struct current_server *server = &client->node.current;
    if (client->uri.servers.count == 0) {
        return true;
    }
    server->search = malloc(sizeof *server->search);
    if (!server->search) {
        return false;
    }
    server->where.host = client->uri.host;
    server->where.port = client->uri.port;
    client->connection_settings.uri = &server->where;
    client->connection_settings.master_only = !client->cluster;
    search_init(server->search, &client->uri, &client->sentinel_credentials, &client->connection_settings,
                client->cluster ? &client->cluster->topology : NULL, &client->stopping);
    return true;
}

void current_server_free(struct client *client) {
    if (client->node.current.search) {
        search_close(client->node.current.search);
        free(client->node.current.search);
    }
}

/* Notes that the client leaves its process for another one, `run_id`, and counts it if the client had left that one
 * before. */
static void note_left(struct node *node, const char *run_id, int64_t now) {
    struct current_server *server = &node->current;
    int64_t within = RETURNS_WITHIN + (RETURNS_MAX + 1) * node->client->host_watch.interval;
    bool returns = false;
    for (int i = 0; i < server->left_count; i++) {
        returns = returns || strcmp(server->left[i], run_id) == 0;
    }
    if (now - server->returns_from > within) {
        server->returns = 0;
        server->returns_from = now;
    }
    server->returns += returns;
    if (!returns || server->left_count < SERVERS_LEFT) {
        int kept = server->left_count < SERVERS_LEFT ? server->left_count : SERVERS_LEFT - 1;
        memmove(server->left[1], server->left[0], (size_t)kept * PROCESS_ID_SIZE);
        memcpy(server->left[0], server->run_id, PROCESS_ID_SIZE);
        server->left_count = kept + 1;
    }
}

enum server_change current_server_greeted(struct node *node, const struct connection *connection, int64_t now) {
    struct current_server *server = &node->current;
    if (connection->run_id[0] == '\0' || strcmp(connection->run_id, server->run_id) == 0 ||
        (PLANTED(FAULT_OTHER_PROCESS_IGNORED) && server->run_id[0])) {
        return SERVER_SAME;
    }
    if (server->run_id[0] == '\0') {
        memcpy(server->run_id, connection->run_id, PROCESS_ID_SIZE);
        return SERVER_SAME;
    }
    if (connection->opened_at < server->moved_at) {
        return SERVER_STALE;
    }
    if (!current_server_is_searched(server)) { /* with a search, failovers may come as fast */
        note_left(node, connection->run_id, now);
        if (server->returns > RETURNS_MAX && !PLANTED(FAULT_MOVES_WITHOUT_END)) {
            return SERVER_ALTERNATES;
        }
    }
    memcpy(server->run_id, connection->run_id, PROCESS_ID_SIZE);
    server->moved_at = now;
    return SERVER_MOVED;
}

static void note_move(struct client *client, const struct endpoint *to) {
    for (int queue = LOSS_EVENTS; queue <= LOSS_THREADS; queue++) {
        struct move_event *move = &client->node.current.moves[queue];
        if (!atomic_load(&client->losses_watched[queue])) {
            continue;
        }
        if (!move->pending) {
            endpoint_text(&client->node.current.endpoint, move->from);
        }
        endpoint_text(to, move->to);
        move->pending = !PLANTED(FAULT_MOVE_UNREPORTED);
    }
}

/* Returns whether a search found another process than the client's. At the same address, the host name leads elsewhere
 * now. */
static bool is_other_process(const struct current_server *server) {
    const char *found = server->search->run_id;
    return found[0] && server->run_id[0] && strcmp(found, server->run_id) != 0;
}

bool current_server_found(struct client *client, int64_t now) {
    struct current_server *server = &client->node.current;
    const struct endpoint *found = &server->search->discovery.target;
    bool known = current_server_is_known(server);
    bool same_address = known && endpoint_equal(found, &server->endpoint);
    server->addresses = server->search->found;
    server->must_search = false;
    server->search_from = 0;
    if (same_address && !is_other_process(server)) {
        return false;
    }
    if (known) {
        if (!same_address) { /* else the event would name the same address twice */
            note_move(client, found);
        }
        server->run_id[0] = '\0';
        server->moved_at = now;
    }
    server->endpoint = *found;
    server->where.host = server->endpoint.host;
    server->where.port = server->endpoint.port;
    return known;
}

void current_server_request_search(struct client *client, int64_t now) {
    client->node.current.must_search = true;
    client->node.current.search_from = 0;
    client->node.current.repeat_from = 0;
    client->node.current.search_until = now + SEARCH_LIMIT;
}

bool current_server_may_be_elsewhere(struct node *node, int64_t now) {
    struct current_server *server = &node->current;
    if (current_server_is_searched(server)) {
        return true;
    }
    if (now < server->read_only_until) {
        return false;
    }
    server->read_only_until = now + READ_ONLY_BELIEVED;
    return true;
}
