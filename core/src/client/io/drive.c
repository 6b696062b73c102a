/* A blocking call: start the operation, and until it is done read the pipeline for everybody, or sleep while somebody
 * else does.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One caller alone pays no thread switch: it writes, looks at the socket briefly, and reads its own reply. With more
 * callers the first one reads for all; when its own reply has come, the role passes to the caller of the oldest
 * command under way. Callers beside each other yield the processor before they sleep: the others' commands go out with
 * theirs, the reader comes by with their reply, and neither a sleep nor a wake-up has been paid for. */
#include "drive.h"

#include <poll.h>
#include <string.h>

#include "adaptive_spin.h"
#include "client_lock.h"
#include "find_server.h"
#include "handles.h"
#include "outputs.h"
#include "pipeline_io.h"
#include "reader.h"
#include "routes.h"

void request_init(struct request *request, struct client *client, struct redlatch_cancel *cancel) {
    memset(request, 0, sizeof *request);
    request->client = client;
    request->cancel = cancel;
    request->own_futex = 1; /* awake */
    request->futex = cancel ? &cancel->futex : &request->own_futex;
    request->operation.answer = &request->answer;
    request->operation.wait_until = NEVER;
    request->operation.max_hold_ms = REDLATCH_FOREVER;
}

void request_set_wait(struct request *request, int64_t wait_ms, int64_t now) {
    struct operation *operation = &request->operation;
    operation->non_blocking = wait_ms == 0;
    request->wait_ms = wait_ms;
    if (wait_ms == 0) {
        operation->wait_until = now + request->client->command_timeout;
    } else {
        operation->wait_until = wait_ms == REDLATCH_FOREVER ? NEVER : now + wait_ms * MILLISECOND;
    }
}

/* Looking for a pipeline of their own this often in vain, callers are worth another connection. */
enum { CROWDED = 32 };

/* Between two looks at the socket. */
enum { PAUSES = 16 };

/* Nothing is under way but unconfirmed releases, for whose replies nobody waits. */
static bool is_free(const struct pipeline_io *io) {
    const struct pipeline *pipeline = io->pipeline;
    return !io_is_read(io) && !io->writing && !io->authentication.pending &&
           pipeline->in_flight == pipeline->unconfirmed && list_is_empty(&pipeline->unsent) &&
           list_is_empty(&pipeline->in_doubt);
}

/* A pipeline that is lent to an operation: the server reads nothing from it while it waits for replicas. One that
 * nobody uses, open if there is such a one; else the one with the fewest commands under way. */
static enum pipeline_role pick_lent(const struct node *node) {
    const struct pipeline_io *best = NULL;
    int64_t least = INT64_MAX;
    for (int i = PIPELINE_CALLERS_SECOND; i < PIPELINE_COUNT; i++) {
        const struct pipeline_io *io = &node->ios[i];
        int64_t burden = io->pipeline->in_flight + io->pipeline->awaited;
        bool closed = io->connection.state != CONNECTION_READY;
        burden = is_free(io) && burden == 0 ? closed : 2 + burden;
        if (burden < least) {
            best = io;
            least = burden;
        }
    }
    return best->pipeline->role;
}

/* A pipeline to be alone on while there are enough, else the first one, which is shared. A further connection is opened
 * by the background thread, so that its failure is nobody's. */
static enum pipeline_role pick_own(struct node *node) {
    struct client *client = node->client;
    const struct pipeline_io *first = &node->ios[PIPELINE_CALLERS];
    if (is_free(first) || (io_is_shared(first) && client_yields(client))) {
        return PIPELINE_CALLERS;
    }
    struct pipeline_io *closed = NULL;
    for (int i = PIPELINE_CALLERS_SECOND; i < PIPELINE_COUNT; i++) {
        struct pipeline_io *io = &node->ios[i];
        if (io->connection.state != CONNECTION_READY) {
            closed = closed ? closed : io;
        } else if (is_free(io)) {
            return io->pipeline->role;
        }
    }
    if (closed && ++client->crowded >= CROWDED && !closed->wanted) {
        client->crowded = 0;
        closed->wanted = true;
        client_kick_background(client);
    }
    return PIPELINE_CALLERS;
}

/* Where the commands of an operation go. */
static struct node *node_of(struct client *client, const struct operation *operation) {
    const struct resource *resource = operation->set ? operation->set->members[0].resource : operation->resource;
    struct server *server = resource ? server_of(&client->engine, resource) : client->engine.server;
    return container_of(server, struct node, server);
}

/* The command of an unconfirmed release of a name that the operation is to acquire; NULL. What reads the replies to a
 * blocking call does not read those to an asynchronous one. */
static const struct command *release_before(const struct client *client, const struct operation *operation) {
    if (client->engine.stats.unconfirmed == 0 || operation->kind != OPERATION_ACQUIRE) {
        return NULL;
    }
    const struct hold *hold = operation->set ? NULL : resource_unconfirmed_hold(operation->resource);
    for (uint32_t i = 0; !hold && operation->set && i < operation->set->count; i++) {
        hold = resource_unconfirmed_hold(operation->set->members[i].resource);
    }
    const struct command *command = hold ? hold->busy : NULL;
    return command && operation->asynchronous == (command->pipeline == PIPELINE_HOST) ? command : NULL;
}

enum pipeline_role drive_pick_pipeline(struct client *client, const struct operation *operation) {
    if (!engine_wants_acknowledgements(&client->engine)) {
        const struct command *release = release_before(client, operation);
        if (release) { /* behind it */
            return (enum pipeline_role)release->pipeline;
        }
        return operation->asynchronous ? PIPELINE_HOST : pick_own(node_of(client, operation));
    }
    if (operation_needs_acknowledgement(&client->engine, operation)) {
        return pick_lent(node_of(client, operation));
    }
    return operation->asynchronous ? PIPELINE_HOST : PIPELINE_CALLERS;
}

void drive_start(struct request *request, int64_t now) {
    struct client *client = request->client;
    request->operation.pipeline = (uint8_t)drive_pick_pipeline(client, &request->operation);
    engine_start(&client->engine, &request->operation, now);
    client_outputs(client, now);
}

struct pipeline_io *drive_io(const struct request *request) {
    const struct operation *operation = &request->operation;
    const struct command *command = operation->phase == PHASE_HANDED ? operation->resource->queue->handing
                                                                     : operation->command;
    struct node *node = command ? container_of(command->server, struct node, server)
                                : node_of(request->client, operation);
    return &node->ios[operation->pipeline];
}

static bool is_done(const struct request *request) {
    return request->operation.phase == PHASE_DONE;
}

static bool is_cancelled(const struct request *request) {
    return request->cancel && (atomic_load(&request->cancel->futex) & CANCEL_FIRED);
}

bool drive_pause_until(int64_t until) {
    for (int i = 0; i < PAUSES; i++) {
        system_pause();
    }
    return system_now() < until;
}

/* Looks at the socket without sleeping, for as long as it is likely to pay. Without the mutex. */
static ssize_t busy_poll(struct pipeline_io *io, int64_t start) {
    int64_t until = start + busy_poll_budget(&io->busy_poll);
    ssize_t got;
    do {
        got = connection_read(&io->connection, io->staging, STAGING_SIZE);
    } while (got == 0 && drive_pause_until(until));
    return got;
}

/* Lets the others run a little, whose commands and replies go with one's own. Without the mutex. */
static ssize_t poll_between_yields(struct pipeline_io *io, int times, int64_t until) {
    ssize_t got = connection_read(&io->connection, io->staging, STAGING_SIZE);
    for (int i = 0; got == 0 && i < times && system_now() < until; i++) {
        system_yield();
        got = connection_read(&io->connection, io->staging, STAGING_SIZE);
    }
    return got;
}

/* Waits for a socket or for the call to be cancelled. */
static void poll_socket(int fd, short events, const struct request *request, int64_t until) {
    struct pollfd fds[2] = {{fd, events, 0}, {request->cancel ? request->cancel->signal.fd : -1, POLLIN, 0}};
    system_poll(fds, 2, until);
    if (request->cancel && fds[1].revents && !is_cancelled(request)) {
        system_unsignal(request->cancel->signal.fd); /* left by a firing whose word an earlier wait has seen already */
    }
}

/* Sleeps until there is something to read, or `until`. Without the mutex. */
static ssize_t sleep_and_read(struct pipeline_io *io, short events, const struct request *request, int64_t start,
                              int64_t until) {
    struct connection *connection = &io->connection;
    if (events == POLLIN && !request->cancel && until - start > CONNECTION_SLEEP) {
        ssize_t got = connection_sleep_and_read(connection, io->staging, STAGING_SIZE);
        if (got != 0) {
            return got;
        }
    }
    poll_socket(connection->fd, events, request, until);
    return connection_read(connection, io->staging, STAGING_SIZE);
}

/* Waits for the socket and reads it, without the mutex. */
static ssize_t wait_and_read(struct pipeline_io *io, const struct request *request, int64_t until) {
    struct client *client = io->client;
    bool is_only = client->callers == 1;
    bool polls = client->busy_poll && (is_only ? busy_poll_chosen(&io->busy_poll) : yielding_chosen(&io->yielding));
    int64_t limit = yielding_limit(client->callers);
    int times = yielding_times(client->callers, client->engine.stats.waiters);
    short events = io_poll_events(io);
    reader_at_socket(io, true);
    client_unlock(client);
    int64_t start = system_now();
    ssize_t got = 0;
    if (polls) {
        got = is_only ? busy_poll(io, start) : poll_between_yields(io, times, start + limit);
    }
    int64_t polled = system_now() - start;
    bool paid = got != 0;
    if (got == 0) {
        got = sleep_and_read(io, events, request, start, until);
    }
    int64_t elapsed = system_now() - start;
    client_lock(client);
    reader_at_socket(io, false);
    client->engine.stats.busy_polls += polls;
    client->engine.stats.busy_polls_hit += polls && paid;
    if (is_only && got > 0) {
        busy_poll_learn(&io->busy_poll, polls, elapsed);
    } else if (!is_only && polls) {
        yielding_learn(&io->yielding, paid, polled, limit);
    }
    return got;
}

/* Whether to let the others run a little before sleeping: something of this call is under way beside theirs. */
static bool may_yield(const struct request *request) {
    struct client *client = request->client;
    const struct operation *operation = &request->operation;
    return client->busy_poll && (operation->phase == PHASE_REQUESTING || operation->phase == PHASE_HANDED) &&
           io_is_shared(drive_io(request)) && yielding_chosen(&client->yielding);
}

/* Yields until the word has changed, within bounds; returns how long that took. Without the mutex. */
static int64_t yield_while(const _Atomic uint32_t *futex, uint32_t value, int64_t limit) {
    int64_t start = system_now();
    int64_t elapsed = 0;
    for (int i = 0; i < CALLER_YIELDS && elapsed < limit && atomic_load(futex) == value; i++) {
        system_yield();
        elapsed = system_now() - start;
    }
    return elapsed;
}

static void sleep_until_woken(struct request *request, int64_t until) {
    struct client *client = request->client;
    uint32_t before = atomic_fetch_and(request->futex, ~UINT32_C(1));
    if ((before & 1) || is_cancelled(request)) {
        return; /* woken since it last looked */
    }
    bool yields = may_yield(request);
    int64_t limit = yielding_limit(client->callers);
    client_unlock(client);
    int64_t elapsed = yields ? yield_while(request->futex, before, limit) : 0;
    bool paid = yields && atomic_load(request->futex) != before;
    if (!paid) {
        system_wait_interruptible(request->futex, before, until, request->cancel ? &request->cancel->signal : NULL);
    }
    client_lock(client);
    if (yields) {
        yielding_learn(&client->yielding, paid, elapsed, limit);
    }
}

/* In a cluster another thread may send the call's command to another node meanwhile: the reader rechecks as often. */
static const int64_t REROUTED_PAUSE = 20 * MILLISECOND;

static int64_t sleep_limit(struct pipeline_io *io, int64_t until) {
    int64_t next = io_next_time(io);
    int64_t recheck = io->client->cluster ? system_now() + REROUTED_PAUSE : NEVER;
    next = next < recheck ? next : recheck;
    return next < until ? next : until;
}

/* One turn of the reader. */
static void read_turn(struct pipeline_io *io, struct request *request, int64_t until) {
    struct client *client = io->client;
    until = sleep_limit(io, until);
    if (io->connection.state == CONNECTION_READY) {
        ssize_t got = wait_and_read(io, request, until);
        int64_t now = system_now();
        io_take(io, got, now);
        client_outputs(client, now);
        return;
    }
    if (io_lookup(io, until) != REDLATCH_OK) {
        client_outputs(client, system_now());
        return;
    }
    if (drive_io(request) != io) { /* the topology of the cluster is known now */
        return;
    }
    int64_t now = system_now();
    int status = io_connect(io, now);
    client_outputs(client, now);
    if (status != REDLATCH_AGAIN || is_done(request)) {
        return;
    }
    until = sleep_limit(io, until);
    int fd = io->connection.fd;
    if (fd < 0) { /* between two attempts to connect */
        sleep_until_woken(request, until);
        return;
    }
    short events = io_poll_events(io);
    client_unlock(client);
    poll_socket(fd, events, request, until);
    client_lock(client);
}

/* Something of it is under way there. */
bool drive_should_read(const struct request *request) {
    const struct operation *operation = &request->operation;
    if (operation->phase == PHASE_HANDED) {
        return operation->resource->queue->handing->pipeline == operation->pipeline;
    }
    return operation->phase == PHASE_REQUESTING;
}

/* Drives the call until it is done or `until` has come. The mutex is held before and after. */
void drive_until(struct request *request, int64_t until) {
    struct client *client = request->client;
    struct operation *operation = &request->operation;
    request->inside = true;
    while (!is_done(request)) {
        struct pipeline_io *io = drive_io(request); /* in a cluster another one, when the name has moved */
        reader_pass_all(client, io);
        int64_t now = system_now();
        if (is_cancelled(request)) {
            engine_abort(&client->engine, operation, REDLATCH_CANCELLED, now);
            client_outputs(client, now);
        } else if (now >= operation->wait_until) {
            engine_abort(&client->engine, operation, REDLATCH_TIMEOUT, now);
            client_outputs(client, now);
        } else if (now >= until) {
            break;
        } else {
            int64_t limit = operation->wait_until < until ? operation->wait_until : until;
            if (drive_should_read(request) && !io_is_read(io)) {
                reader_take(io, READER_CALLER);
                io_flush(io); /* what was left to the reader; the mutex is dropped for a moment */
                if (!is_done(request)) {
                    read_turn(io, request, limit);
                }
                reader_leave(io);
            } else {
                reader_pass(io, now); /* it may have been this call's until now */
                sleep_until_woken(request, limit);
            }
        }
    }
    request->inside = false;
    reader_pass_all(client, NULL);
}

/* Drives a call to its end and returns its status. */
int drive(struct request *request) {
    drive_until(request, NEVER);
    return request->operation.status;
}
