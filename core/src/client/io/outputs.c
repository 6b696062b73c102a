/* Carries out the engine's output, under the client's mutex. Callers are woken after it was dropped.
 * SPDX-License-Identifier: Apache-2.0 */
#include "outputs.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "background_thread.h"
#include "client_lock.h"
#include "composite_holds.h"
#include "composite_op.h"
#include "pipeline_io.h"
#include "reader.h"
#include "subscriber.h"

static void raise_event(struct client *client) {
    if (client->event_signal.fd >= 0 && !client->event_raised && !client->event_polling) {
        client->event_raised = true;
        system_signal(&client->event_signal);
    }
}

static void wake_threads(struct client *client) {
    if (!(atomic_fetch_or(&client->loss_futex, 1) & 1)) {
        system_wake_all(&client->loss_futex);
    }
}

void client_notify_losses(struct client *client) {
    if (composite_has_loss(client, LOSS_EVENTS)) {
        raise_event(client);
    }
    if (composite_has_loss(client, LOSS_THREADS)) {
        wake_threads(client);
    }
}

/* A subrequest of an asynchronous composite operation is done. The background thread of the first member's client steps
 * the operation. */
static void step_soon(struct composite_op *op) {
    struct client *first = op->first; /* the operation may be over as soon as `posted` is seen */
    atomic_store(&op->posted, true);
    system_signal(&first->background_signal);
}

static void operation_finished(struct client *client, struct request *request) {
    if (request->op && request->op->done != request) {
        step_soon(request->op);
    } else if (request->operation.asynchronous) {
        list_append(&client->events, &request->operation.link);
        raise_event(client);
    } else {
        client_wake(client, request->futex);
    }
}

void client_finish_step(struct client *client, int64_t now) {
    client_outputs(client, now);
    for (struct pipeline_io *io = client->node.ios; io; io = io_next(io)) {
        reader_pass(io, now);
    }
}

/* An invariant failed: the state of the engine cannot be relied on. All calls end with INTERNAL, the background thread
 * stops, leases run out, and threads that wait for a socket are woken. The host is notified by its descriptor. */
static void give_up_broken(struct client *client) {
    atomic_store(&client->broken, true);
    atomic_store(&client->stopping, true);
    engine_end_broken(&client->engine);
    for (struct pipeline_io *io = client->node.ios; io; io = io_next(io)) {
        if (io->in_set) { /* an ended connection would keep the host's descriptor readable */
            system_set_remove(client->event_set, io->connection.fd);
            io->in_set = false;
        }
        if (io->connection.fd >= 0) {
            shutdown(io->connection.fd, SHUT_RDWR);
        }
    }
    wake_threads(client);
    raise_event(client);
    system_signal(&client->background_signal);
}

/* Carries out the engine's output: wakes callers, notifies the host, frees dead names, kicks the background thread if
 * it is needed, and writes commands. */
void client_outputs(struct client *client, int64_t now) {
    struct engine *engine = &client->engine;
    struct list_link *link;
    struct node *each = &client->node;
    do {
        engine_refuse_late(engine, &each->server, now);
    } while ((each = each->next) != NULL);
    if (engine->broken && !atomic_load(&client->broken)) {
        give_up_broken(client);
    }
    while ((link = list_pop(&engine->finished)) != NULL) {
        struct request *request = container_of(link, struct request, operation.link);
        if (client->inherited.count > 0) {
            inherited_finished(client, &request->operation);
        }
        operation_finished(client, request);
    }
    if (engine->losses[LOSS_SETS]) {
        composite_take_losses(client);
    }
    if (engine->losses[LOSS_EVENTS] || engine->losses[LATE_EVENTS] || client->node.current.moves[LOSS_EVENTS].pending ||
        client->refused.pending[LOSS_EVENTS]) {
        raise_event(client);
    }
    if (engine->losses[LOSS_THREADS] || engine->losses[LATE_THREADS] ||
        client->node.current.moves[LOSS_THREADS].pending || client->refused.pending[LOSS_THREADS]) {
        wake_threads(client);
    }
    for (struct resource *resource; (resource = engine->dead_resources) != NULL;) {
        engine->dead_resources = resource->next;
        free(resource);
    }
    bool kicks = engine_next_timer(engine) < client->background_wakes_at;
    for (const struct node *node = &client->node; node && !kicks; node = node->next) {
        kicks = subscriber_needs_background(node);
    }
    if (kicks) {
        client_kick_background(client);
    }
    if (engine_next_timer(engine) < NEVER && !atomic_load(&client->stopping)) {
        background_start(client); /* no other thread runs timers; if it cannot start, deadlines still end calls */
    }
    /* Last, because it drops the mutex for a moment: no other thread may find a finished call still on a list. */
    for (struct pipeline_io *io = client->node.ios; io; io = io_next(io)) {
        io_flush(io);
        if (!io_is_callers(io)) { /* callers read their own pipelines */
            io_watch_unread(io, now);
        }
    }
}
