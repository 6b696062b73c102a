/* The reader role of a pipeline. One thread at a time reads a connection, for all callers. While a thread has the role,
 * no other thread closes the connection.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   NONE        reader_pass          COMING: the caller whose command has waited longest is woken; NONE if none waits
 *   COMING      reader_pass          NONE, if that caller's command is done
 *   NONE,       reader_take          CALLER: a blocking call; COMPOSITE: a thread that waits for several clients;
 *   COMING                           BACKGROUND: the background thread, which reads what is left unread
 *   CALLER      reader_at_socket     AT_SOCKET, without the mutex; then CALLER again
 *   CALLER,     reader_leave         NONE; reader_pass follows
 *   COMPOSITE,
 *   BACKGROUND
 *
 * The host's thread reads the host's pipeline with the mutex, while no thread has the role. */
#include "reader.h"

#include "client_lock.h"
#include "pipeline_io.h"
#include "wait_queue.h"

/* Returns the operation that waits for the reply to a command: of an unconfirmed hand-over, the receiver. */
static struct operation *waiting_operation(const struct command *command) {
    return command->unconfirmed ? receiver_of(command) : command->operation;
}

static struct request *waiting_request_of(const struct list *list) {
    for (struct list_link *link = list_first(list); link; link = list_next(list, link)) {
        struct operation *operation = waiting_operation(container_of(link, struct command, link));
        if (operation && !operation->asynchronous && operation->phase != PHASE_DONE) {
            struct request *request = container_of(operation, struct request, operation);
            if (request->inside) {
                return request;
            }
        }
    }
    return NULL;
}

/* Returns the caller whose command has waited longest, of those that drive their calls; NULL if there is none. Returns
 * NULL if the client is broken: its calls have ended, and its commands may point to freed memory. */
static struct request *next_reader(const struct pipeline_io *io) {
    const struct pipeline *pipeline = io->pipeline;
    if (atomic_load(&io->client->broken)) {
        return NULL;
    }
    bool awaited = pipeline->in_flight > pipeline->unconfirmed; /* there may be very many unconfirmed ones */
    struct request *next = awaited ? waiting_request_of(&pipeline->sent) : NULL;
    next = next ? next : waiting_request_of(&pipeline->in_doubt);
    return next ? next : waiting_request_of(&pipeline->unsent);
}

bool reader_is_found(const struct pipeline_io *io) {
    return next_reader(io) != NULL;
}

void reader_take(struct pipeline_io *io, enum reader who) {
    io->reader = who;
    io->unread_since = 0;
}

void reader_at_socket(struct pipeline_io *io, bool waits) {
    io->reader = waits ? READER_AT_SOCKET : READER_CALLER;
}

void reader_leave(struct pipeline_io *io) {
    io->reader = READER_NONE;
    io->unread_since = 0;
}

void reader_pass(struct pipeline_io *io, int64_t now) {
    if (io_is_read(io)) {
        return;
    }
    struct request *next = next_reader(io);
    io->reader = next ? READER_COMING : READER_NONE;
    if (next) {
        io->unread_since = 0;
        client_wake(io->client, next->futex);
    } else {
        io_watch_unread(io, now);
    }
}

void reader_pass_all(struct client *client, const struct pipeline_io *except) {
    for (struct pipeline_io *io = client->node.ios; io; io = io_next(io)) {
        if (io != except && io_is_callers(io)) {
            reader_pass(io, 0);
        }
    }
}
