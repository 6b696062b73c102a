/* Closing and freeing clients, and what an open client reports of itself: uuid, URL and statistics.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>
#include <unistd.h>

#include "background_thread.h"
#include "client_lock.h"
#include "composite_async.h"
#include "events.h"
#include "guard.h"
#include "host_watch.h"
#include "node.h"
#include "options.h"
#include "outputs.h"
#include "owners.h"
#include "pipeline_io.h"
#include "preallocate.h"

static void close_events(struct client *client) {
    system_signal_close(&client->event_signal);
    client_close_descriptor(&client->event_set);
}

static void abort_operations(struct client *client, int64_t now) {
    struct engine *engine = &client->engine;
    struct list_link *link;
    while (!engine->broken && (link = list_first(&engine->operations)) != NULL) {
        engine_abort(engine, container_of(link, struct operation, all), REDLATCH_CLOSED, now);
    }
}

static void give_back_all(struct client *client, int64_t now) {
    struct engine *engine = &client->engine;
    for (uint32_t i = 0; i < engine->resources.bucket_count; i++) {
        for (struct resource *resource = engine->resources.buckets[i]; resource; resource = resource->next) {
            for (struct hold *hold = resource->holds, *next; hold; hold = next) {
                next = hold->next;
                client_preallocate(client, OPERATION_QUERY); /* without memory nothing is sent: the lease runs out */
                engine_give_back(engine, hold, now);
            }
        }
    }
}

static bool is_drained(const struct client *client) {
    if (atomic_load(&client->broken)) {
        return true;
    }
    if (client->engine.refused_commands > 0) {
        return false;
    }
    for (const struct pipeline_io *io = client->node.ios; io; io = io_next(io)) {
        if (io->pipeline->role != PIPELINE_BACKGROUND && io_has_work(io)) {
            return false;
        }
    }
    return true;
}

static bool is_confirmed(const struct client *client) {
    return atomic_load(&client->broken) || client->engine.stats.unconfirmed == 0;
}

/* Waits until `is_done` or until the time `until`. Reads the connections that nobody else reads. Drops the mutex for
 * 0.2 ms between two attempts. */
static void drain(struct client *client, bool (*is_done)(const struct client *client), int64_t until) {
    while (!is_done(client) && system_now() < until) {
        int64_t now = system_now();
        for (struct pipeline_io *io = client->node.ios; io; io = io_next(io)) {
            if (!io_is_read(io) && io->connection.state == CONNECTION_READY && io_has_work(io)) {
                io_receive(io, connection_read(&io->connection, io->staging, STAGING_SIZE), now);
            }
        }
        client_finish_step(client, now);
        if (!is_done(client)) {
            _Atomic uint32_t nobody = 0;
            client_unlock(client);
            system_wait(&nobody, 0, now + 200);
            client_lock(client);
        }
    }
}

static bool is_read(const struct client *client) {
    for (const struct pipeline_io *io = client->node.ios; io; io = io_next(io)) {
        if ((io_is_read(io) && io->reader != READER_BACKGROUND) || io->writing) {
            return true;
        }
    }
    return client->callers > 0;
}

/* Ends the waits of readers, and waits until every call has left: `stopping` ends lookups, and a shutdown of the
 * sockets ends reads. */
static void expel_callers(struct client *client) {
    atomic_store(&client->stopping, true);
    while (is_read(client)) {
        for (const struct pipeline_io *io = client->node.ios; io; io = io_next(io)) {
            if (io->connection.fd >= 0) {
                shutdown(io->connection.fd, SHUT_RDWR);
            }
        }
        _Atomic uint32_t nobody = 0;
        client_unlock(client);
        system_wait(&nobody, 0, system_now() + MILLISECOND);
        client_lock(client);
    }
}

/* Waits for the replies to unconfirmed releases while the client is still open, so that their failures are collected as
 * usual. A release without a reply by `until` has failed. The other half of the close timeout is left for the releases
 * of the close itself. */
static void await_confirmations(struct client *client, int64_t until) {
    client_lock(client);
    drain(client, is_confirmed, until);
    if (!is_confirmed(client)) {
        engine_fail_unconfirmed(&client->engine);
        client_finish_step(client, system_now());
    }
    client_unlock(client);
}

static void close_client(struct client *client) {
    int64_t begun = system_now();
    int64_t until = begun + client->close_timeout;
    if (!client_is_inherited(client) && !atomic_load(&client->closed)) {
        await_confirmations(client, begun + client->close_timeout / 2);
    }
    if (atomic_exchange(&client->closed, true) || client_is_inherited(client)) {
        return; /* an inherited client has no descriptor in this process, and its mutex must not be touched */
    }
    owners_remove_client(client);
    client_lock(client);
    int64_t now = system_now();
    abort_operations(client, now);
    if (client->release_on_close && !atomic_load(&client->broken)) {
        give_back_all(client, now);
    }
    client_outputs(client, now); /* puts finished operations among the events */
    events_give_back(client);
    client_finish_step(client, now);
    atomic_fetch_or(&client->loss_futex, 1);
    system_wake_all(&client->loss_futex);
    drain(client, is_drained, until);
    expel_callers(client);
    client_unlock(client);
    background_stop(client);
    composite_discard_ops(client);
    client_lock(client);
    for (struct node *node = &client->node; node; node = node->next) {
        node_close(node);
    }
    listener_close(client);
    host_watch_close(client);
    if (current_server_is_searched(&client->node.current)) {
        search_close(client->node.current.search);
    }
    events_discard(client);
    close_events(client);
    client_unlock(client);
}

int redlatch_client_close(redlatch_client *handle) {
    int status = guard_client_handle(handle);
    if (status != REDLATCH_OK) {
        return status;
    }
    close_client(handle->client);
    return REDLATCH_OK;
}

void redlatch_client_free(redlatch_client *handle) {
    if (!handle || guard_client_handle(handle) != REDLATCH_OK) {
        return;
    }
    struct client *client = handle->client;
    close_client(client);
    handle_free_client(handle);
    client_drop(client);
}

const char *redlatch_client_uuid(const redlatch_client *handle) {
    if (guard_client_handle(handle) != REDLATCH_OK) {
        return NULL;
    }
    client_adopt(handle->client); /* an inherited client gets a uuid of its own */
    return handle->client->engine.uuid;
}

const char *redlatch_client_url(const redlatch_client *handle) {
    return guard_client_handle(handle) != REDLATCH_OK ? NULL : handle->client->shown_url;
}

static uint64_t open_connections(const struct client *client) {
    uint64_t count = current_server_is_searched(&client->node.current) &&
                     client->node.current.search->connection.fd >= 0;
    count += client->listener && client->listener->connection.fd >= 0;
    for (const struct pipeline_io *io = client->node.ios; io; io = io_next(io)) {
        count += io->connection.fd >= 0;
    }
    for (const struct node *node = &client->node; node; node = node->next) {
        count += node->subscriber.connection.fd >= 0;
        count += node->subscriber.next.connection.fd >= 0;
    }
    return count;
}

int redlatch_client_stats(redlatch_client *handle, redlatch_stats *stats_out) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct client *client = handle->client;
    client_lock(client);
    redlatch_stats stats = client->engine.stats;
    stats.subscriptions = (uint64_t)client->engine.subscriptions;
    stats.connections = open_connections(client);
    client_unlock(client);
    return answer_write(stats_out, &stats, sizeof stats, "stats_out");
}
