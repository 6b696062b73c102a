/* Changing the user and the password of an open client.
 * SPDX-License-Identifier: Apache-2.0 */
#include "background_thread.h"
#include "client_lock.h"
#include "errors.h"
#include "guard.h"
#include "handles.h"
#include "node.h"
#include "outputs.h"

/* Wakes callers that sleep until the next attempt to connect. */
static void wake_callers(struct client *client) {
    const struct engine *engine = &client->engine;
    for (struct list_link *link = list_first(&engine->operations); link; link = list_next(&engine->operations, link)) {
        struct operation *operation = container_of(link, struct operation, all);
        struct request *request = container_of(operation, struct request, operation);
        if (!operation->asynchronous && request->inside) {
            client_wake(client, request->futex);
        }
    }
}

static bool is_connected(const struct client *client) {
    bool connected = false;
    for (const struct pipeline_io *io = client->node.ios; io; io = io_next(io)) {
        connected = connected || io->connection.state != CONNECTION_CLOSED;
    }
    return connected;
}

static void apply(struct client *client) {
    int64_t now = system_now();
    client->credentials_change = true;
    for (struct node *node = &client->node; node; node = node->next) {
        node_connect_soon(node, now);
    }
    struct current_server *server = &client->node.current;
    server->search_from = 0;
    if (current_server_is_searched(server) && search_is_running(server->search)) {
        search_begin(server->search, now); /* a refusal of the old ones must not count for the new ones */
    }
    if (is_connected(client)) {
        background_start(client); /* it reads replies to AUTH; without a thread the next caller does */
    }
    wake_callers(client);
    client_kick_background(client);
    client_finish_step(client, now);
}

int redlatch_client_set_credentials(redlatch_client *handle, const char *username, const char *password) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK) {
        return status;
    }
    if (!password) {
        return fail_with(REDLATCH_INVALID, "password is NULL: expected the password or the token of the user");
    }
    struct client *client = handle->client;
    status = client_enter(client);
    if (status != REDLATCH_OK) {
        return status;
    }
    bool copied = credentials_set(&client->credentials, username, password);
    if (copied) {
        apply(client);
    }
    client_leave(client);
    return copied ? REDLATCH_OK : fail_plain(REDLATCH_NO_MEMORY);
}
