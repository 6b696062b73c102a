/* The reader role of a pipeline: who has it next.
 * SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

#include "client_lock.h"
#include "pipeline_io.h"

static struct request *waiting_request_of(const struct list *list) {
    for (struct list_link *link = list_first(list); link; link = list_next(list, link)) {
        struct operation *operation = container_of(link, struct command, link)->operation;
        if (operation && !operation->asynchronous && operation->phase != PHASE_DONE) {
            struct request *request = container_of(operation, struct request, operation);
            if (request->inside) {
                return request;
            }
        }
    }
    return NULL;
}

/* The caller, now inside, whose command has waited longest. */
static struct request *next_reader(const struct pipeline_io *io) {
    const struct pipeline *pipeline = &io->client->engine.pipelines[io->pipeline];
    struct request *next = waiting_request_of(&pipeline->sent);
    next = next ? next : waiting_request_of(&pipeline->in_doubt);
    return next ? next : waiting_request_of(&pipeline->unsent);
}

bool drive_has_reader(const struct pipeline_io *io) {
    return next_reader(io) != NULL;
}

/* Nobody reads: wakes the next reader, or has the background thread mind the pipeline if there is none. */
void drive_pass_reading(struct pipeline_io *io, int64_t now) {
    struct request *next = io->reading ? NULL : next_reader(io);
    if (next) {
        io->unread_since = 0;
        io->reader_comes = true;
        client_wake(io->client, next->futex);
    } else {
        io->reader_comes = false;
        io_watch_unread(io, now);
    }
}

void drive_pass_reading_all(struct client *client, const struct pipeline_io *except) {
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        struct pipeline_io *io = &client->ios[i];
        if (io != except && io_is_callers(io)) {
            drive_pass_reading(io, 0);
        }
    }
}
