/* Counting and guarding of clients.
 * SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "errors.h"
#include "handles.h"
#include "preallocate.h"

struct client *client_keep(struct client *client) {
    atomic_fetch_add(&client->references, 1);
    return client;
}

void client_close_descriptor(int *fd) {
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

static void discard_losses(struct client *client) {
    for (int queue = LOSS_EVENTS; queue <= LOSS_THREADS; queue++) {
        for (struct loss_event *loss; (loss = client->composite_losses[queue]) != NULL;) {
            client->composite_losses[queue] = loss->next;
            free(loss);
        }
    }
}

void client_drop(struct client *client) {
    if (atomic_fetch_sub(&client->references, 1) > 1) {
        return;
    }
    if (client->fork_generation != system_fork_generation()) {
        return; /* another thread may have been changing it when this child was forked */
    }
    client_close_descriptor(
        &client->background_signal); /* until now a call that was leaving may have been about to use it */
    client_close_descriptor(&client->background_alarm);
    discard_losses(client);
    client_free_memory(client);
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        reply_holder_clear(&client->ios[i].holder);
        connection_free(&client->ios[i].connection);
    }
    reply_holder_clear(&client->subscriber.holder);
    connection_free(&client->subscriber.connection);
    uri_free(&client->uri);
    free(client->username);
    free(client->password);
    free(client->name_prefix);
    free(client->shown_url);
    free(client);
}

int fail_broken(const struct client *client) {
    return fail_with(REDLATCH_INTERNAL, "%s (failed check: %s); please report it. This client cannot be used any more",
                     redlatch_strerror(REDLATCH_INTERNAL), client->engine.broken);
}

int client_check(const struct client *client) {
    if (client->fork_generation != system_fork_generation()) {
        return fail_plain(REDLATCH_FORKED);
    }
    if (atomic_load(&client->broken)) {
        return fail_broken(client);
    }
    return atomic_load(&client->closed) ? fail_plain(REDLATCH_CLOSED) : REDLATCH_OK;
}

int guard_client_handle(const struct redlatch_client *handle) {
    if (!handle || atomic_load(&handle->magic) != MAGIC_CLIENT) {
        return fail_with(REDLATCH_BAD_HANDLE, "client is %s: expected one that redlatch_client_open made",
                         handle ? "freed or of another type" : "NULL");
    }
    return REDLATCH_OK;
}

int guard_client(const struct redlatch_client *handle) {
    int status = guard_client_handle(handle);
    return status == REDLATCH_OK ? client_check(handle->client) : status;
}

const char *redlatch_client_url(const redlatch_client *handle) {
    return guard_client_handle(handle) != REDLATCH_OK ? NULL : handle->client->shown_url;
}

int check_name(const struct client *client, const char *name, size_t size) {
    if (!name || size == 0) {
        return fail_with(REDLATCH_INVALID, "name is empty: expected 1 to %d bytes", REDLATCH_NAME_SIZE_MAX);
    }
    if (size > REDLATCH_NAME_SIZE_MAX - client->name_prefix_size) {
        return fail_with(REDLATCH_INVALID, "name has %zu bytes, prefix included: expected 1 to %d",
                         size + client->name_prefix_size, REDLATCH_NAME_SIZE_MAX);
    }
    return REDLATCH_OK;
}
