/* A blocking call: starts the operation, and until it is done reads the pipeline for all callers, or sleeps while
 * another thread reads.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A single caller needs no thread switch: it writes, busy-polls the socket briefly, and reads its own reply. With more
 * callers the first one reads for all. When its own reply has come, the role passes to the caller of the oldest
 * command under way. Concurrent callers yield the processor before they sleep. Meanwhile the others' commands are sent
 * with theirs, and the reader receives their reply, which often saves a sleep and a wake-up. */
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

/* After so many callers that found no free pipeline, a further connection is opened. */
enum { CROWDED = 32 };

/* Pauses of the processor between two reads of a busy-poll. */
enum { PAUSES = 16 };

/* Returns whether the pipeline has nothing under way but unconfirmed releases, whose replies no caller waits for. */
static bool is_free(const struct pipeline_io *io) {
    const struct pipeline *pipeline = io->pipeline;
    return !io_is_read(io) && !io->writing && !io->authentication.pending &&
           pipeline->in_flight == pipeline->unconfirmed && list_is_empty(&pipeline->unsent) &&
           list_is_empty(&pipeline->in_doubt);
}

/* Picks the pipeline to lend to an operation. The server reads nothing from it while it waits for replicas. An unused
 * one is best, if possible an open one; else the one with the fewest replies due. */
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

/* Picks an unused open pipeline, else the first one, which is shared. The background thread opens further connections,
 * so that their failure fails no call; none to the unknown node of a cluster. */
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
    bool is_known = !client->cluster || node != &client->node;
    if (is_known && closed && ++client->crowded >= CROWDED && !closed->wanted) {
        client->crowded = 0;
        closed->wanted = true;
        client_kick_background(client);
    }
    return PIPELINE_CALLERS;
}

/* Returns the node that the operation's commands go to. */
static struct node *node_of(struct client *client, const struct operation *operation) {
    const struct resource *resource = operation->set ? operation->set->members[0].resource : operation->resource;
    struct server *server = resource ? server_of(&client->engine, resource) : client->engine.server;
    return container_of(server, struct node, server);
}

/* Returns the command of an unconfirmed release of a name that the operation is to acquire; NULL if there is none. It
 * and the operation must be both blocking or both asynchronous: otherwise different threads read their replies. */
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
        if (release) { /* the acquire goes behind it */
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

/* Reads the socket in a loop without sleeping, for as long as that is likely to pay. Without the mutex. */
static ssize_t busy_poll(struct pipeline_io *io, int64_t start) {
    int64_t until = start + busy_poll_budget(&io->busy_poll);
    ssize_t got;
    do {
        got = connection_read(&io->connection, io->staging, STAGING_SIZE);
    } while (got == 0 && drive_pause_until(until));
    return got;
}

/* Yields to the other callers between reads of the socket. Without the mutex. */
static ssize_t poll_between_yields(struct pipeline_io *io, int times, int64_t until) {
    ssize_t got = connection_read(&io->connection, io->staging, STAGING_SIZE);
    for (int i = 0; got == 0 && i < times && system_now() < until; i++) {
        system_yield();
        got = connection_read(&io->connection, io->staging, STAGING_SIZE);
    }
    return got;
}

/* Waits until the socket is ready, the call is cancelled, or `until` has come. */
static void poll_socket(int fd, short events, const struct request *request, int64_t until) {
    struct pollfd fds[2] = {{fd, events, 0}, {request->cancel ? request->cancel->signal.fd : -1, POLLIN, 0}};
    system_poll(fds, 2, until);
    if (request->cancel && fds[1].revents && !is_cancelled(request)) {
        system_unsignal(request->cancel->signal.fd); /* left by a firing whose bit in the futex an earlier wait has
                                                        taken */
    }
}

/* Sleeps until there is something to read, or until `until`, and reads. Without the mutex. */
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

/* Returns whether to yield before sleeping: a command of this call is under way on a shared pipeline, and yielding is
 * likely to pay. */
static bool may_yield(const struct request *request) {
    struct client *client = request->client;
    const struct operation *operation = &request->operation;
    return client->busy_poll && (operation->phase == PHASE_REQUESTING || operation->phase == PHASE_HANDED) &&
           io_is_shared(drive_io(request)) && yielding_chosen(&client->yielding);
}

/* Yields until the futex has changed, within bounds. Returns how long that took. Without the mutex. */
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
        return; /* woken since the last check */
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

/* In a cluster another thread may move the call's command to another node. The reader checks this often. */
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
    if (drive_io(request) != io) { /* the topology is known now: the command went to another node */
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

/* Returns true if the call's command, or a hand-over that names the call, is under way there. */
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
        struct pipeline_io *io = drive_io(request); /* in a cluster another one after the name has moved */
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
                io_flush(io); /* writes what was left to the reader; drops the mutex for a moment */
                if (!is_done(request)) {
                    read_turn(io, request, limit);
                }
                reader_leave(io);
            } else {
                reader_pass(io, now); /* this call may have had the role until now */
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
