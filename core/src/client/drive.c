/* A blocking call: start the operation, and until it is done read the lane for everybody, or sleep while somebody
 * else does. SPDX-License-Identifier: Apache-2.0
 *
 * One caller alone pays no thread switch: it writes, looks at the socket briefly, and reads its own reply. With more
 * callers the first one reads for all; when its own reply has come, the role passes to the caller of the oldest
 * command under way. Callers beside each other yield the processor before they sleep: the others' commands go out with
 * theirs, the reader comes by with their reply, and neither a sleep nor a wake-up has been paid for. */
#include <poll.h>
#include <string.h>

#include "handles.h"

void call_init(struct call *call, struct client *client, struct redlatch_cancel *cancel) {
    memset(call, 0, sizeof *call);
    call->client = client;
    call->cancel = cancel;
    call->own_word = 1; /* awake */
    call->word = cancel ? &cancel->word : &call->own_word;
    call->operation.answer = &call->answer;
    call->operation.wait_until = NEVER;
    call->operation.max_hold_ms = REDLATCH_FOREVER;
}

void call_wait_for(struct call *call, int64_t wait_ms, int64_t now) {
    struct operation *operation = &call->operation;
    operation->once = wait_ms == 0;
    call->wait_ms = wait_ms;
    if (wait_ms == 0) {
        operation->wait_until = now + call->client->command_timeout;
    } else {
        operation->wait_until = wait_ms == REDLATCH_FOREVER ? NEVER : now + wait_ms * MILLISECOND;
    }
}

/* Looking for a lane of their own this often in vain, callers are worth another connection. */
enum { CROWDED = 32 };

/* Between two looks at the socket. */
enum { PAUSES = 16 };

static bool is_free(const struct port *port) {
    return !port->reading && !port->writing && !port_has_work(port);
}

/* A lane to be alone on while there are enough, else the first one, which is shared. A further connection is opened by
 * the keeper, so that its failure is nobody's. */
enum lane_number drive_pick_lane(struct client *client) {
    const struct port *first = &client->ports[LANE_CALLERS];
    if (is_free(first) || (port_is_shared(first) && client_yields(client))) {
        return LANE_CALLERS;
    }
    struct port *closed = NULL;
    for (int i = LANE_CALLERS_SECOND; i < LANE_COUNT; i++) {
        struct port *port = &client->ports[i];
        if (port->connection.state != CONNECTION_READY) {
            closed = closed ? closed : port;
        } else if (is_free(port)) {
            return port->lane;
        }
    }
    if (closed && ++client->crowded >= CROWDED && !closed->wanted) {
        client->crowded = 0;
        closed->wanted = true;
        client_kick_keeper(client);
    }
    return LANE_CALLERS;
}

void drive_start(struct call *call, int64_t now) {
    struct client *client = call->client;
    call->operation.lane = (uint8_t)drive_pick_lane(client);
    engine_start(&client->engine, &call->operation, now);
    client_outputs(client, now);
}

static bool is_done(const struct call *call) {
    return call->operation.phase == PHASE_DONE;
}

static bool is_cancelled(const struct call *call) {
    return call->cancel && (atomic_load(&call->cancel->word) & CANCEL_FIRED);
}

bool drive_pause_until(int64_t until) {
    for (int i = 0; i < PAUSES; i++) {
        system_pause();
    }
    return system_now() < until;
}

/* Looks at the socket without sleeping, for as long as it is likely to pay. Without the mutex. */
static ssize_t look(struct port *port, int64_t start) {
    int64_t until = start + looking_budget(&port->looking);
    ssize_t got;
    do {
        got = connection_read(&port->connection, port->staging, STAGING_SIZE);
    } while (got == 0 && drive_pause_until(until));
    return got;
}

/* Lets the others run a little, whose commands and replies go with one's own. Without the mutex. */
static ssize_t look_between_yields(struct port *port, int times, int64_t until) {
    ssize_t got = connection_read(&port->connection, port->staging, STAGING_SIZE);
    for (int i = 0; got == 0 && i < times && system_now() < until; i++) {
        system_yield();
        got = connection_read(&port->connection, port->staging, STAGING_SIZE);
    }
    return got;
}

/* Waits for a socket or for the call to be cancelled. */
static void poll_socket(int fd, short events, const struct call *call, int64_t until) {
    struct pollfd fds[2] = {{fd, events, 0}, {call->cancel ? call->cancel->signal : -1, POLLIN, 0}};
    system_poll(fds, 2, until);
    if (call->cancel && fds[1].revents && !is_cancelled(call)) {
        system_unsignal(call->cancel->signal); /* left by a firing whose word an earlier wait has seen already */
    }
}

/* Sleeps until there is something to read, or `until`. Without the mutex. */
static ssize_t sleep_and_read(struct port *port, short events, const struct call *call, int64_t start, int64_t until) {
    struct connection *connection = &port->connection;
    if (events == POLLIN && !call->cancel && until - start > CONNECTION_SLEEP) {
        ssize_t got = connection_sleep_and_read(connection, port->staging, STAGING_SIZE);
        if (got != 0) {
            return got;
        }
    }
    poll_socket(connection->fd, events, call, until);
    return connection_read(connection, port->staging, STAGING_SIZE);
}

/* Waits for the socket and reads it, without the mutex. */
static ssize_t wait_and_read(struct port *port, const struct call *call, int64_t until) {
    struct client *client = port->client;
    bool alone = client->calls == 1;
    bool looking = client->look && (alone ? looking_chosen(&port->looking) : yielding_chosen(&port->yielding));
    int64_t limit = yielding_limit(client->calls);
    int times = yielding_times(client->calls, client->engine.stats.waiters);
    short events = port_events(port);
    port->reader_waits = true;
    client_unlock(client);
    int64_t start = system_now();
    ssize_t got = 0;
    if (looking) {
        got = alone ? look(port, start) : look_between_yields(port, times, start + limit);
    }
    int64_t looked = system_now() - start;
    bool paid = got != 0;
    if (got == 0) {
        got = sleep_and_read(port, events, call, start, until);
    }
    int64_t passed = system_now() - start;
    client_lock(client);
    port->reader_waits = false;
    client->engine.stats.looks += looking;
    client->engine.stats.looks_paid += looking && paid;
    if (alone && got > 0) {
        looking_learn(&port->looking, looking, passed);
    } else if (!alone && looking) {
        yielding_learn(&port->yielding, paid, looked, limit);
    }
    return got;
}

/* Whether to let the others run a little before sleeping: something of this call is under way beside theirs. */
static bool may_yield(const struct call *call) {
    struct client *client = call->client;
    const struct operation *operation = &call->operation;
    return client->look && (operation->phase == PHASE_ASKING || operation->phase == PHASE_HANDED) &&
           port_is_shared(&client->ports[operation->lane]) && yielding_chosen(&client->yielding);
}

/* Yields until the word has changed, within bounds; returns how long that took. Without the mutex. */
static int64_t yield_while(const _Atomic uint32_t *word, uint32_t value, int64_t limit) {
    int64_t start = system_now();
    int64_t passed = 0;
    for (int i = 0; i < CALLER_YIELDS && passed < limit && atomic_load(word) == value; i++) {
        system_yield();
        passed = system_now() - start;
    }
    return passed;
}

static void sleep_until_woken(struct call *call, int64_t until) {
    struct client *client = call->client;
    uint32_t before = atomic_fetch_and(call->word, ~UINT32_C(1));
    if ((before & 1) || is_cancelled(call)) {
        return; /* woken since it last looked */
    }
    bool yields = may_yield(call);
    int64_t limit = yielding_limit(client->calls);
    client_unlock(client);
    int64_t passed = yields ? yield_while(call->word, before, limit) : 0;
    bool paid = yields && atomic_load(call->word) != before;
    if (!paid) {
        system_wait(call->word, before, until);
    }
    client_lock(client);
    if (yields) {
        yielding_learn(&client->yielding, paid, passed, limit);
    }
}

/* One turn of the reader. */
static void read_turn(struct port *port, struct call *call, int64_t until) {
    struct client *client = port->client;
    int64_t next = port_next_time(port);
    until = next < until ? next : until;
    if (port->connection.state == CONNECTION_READY) {
        ssize_t got = wait_and_read(port, call, until);
        int64_t now = system_now();
        port_take(port, got, now);
        port_check_peer(port, now);
        client_outputs(client, now);
        return;
    }
    if (!port_resolve(port, until)) {
        client_outputs(client, system_now());
        return;
    }
    int64_t now = system_now();
    int status = port_connect(port, now);
    client_outputs(client, now);
    if (status != REDLATCH_AGAIN || is_done(call)) {
        return;
    }
    next = port_next_time(port);
    until = next < until ? next : until;
    int fd = port->connection.fd;
    if (fd < 0) { /* between two attempts to connect */
        sleep_until_woken(call, until);
        return;
    }
    short events = port_events(port);
    client_unlock(client);
    poll_socket(fd, events, call, until);
    client_lock(client);
}

static struct call *caller_of(const struct list *list) {
    for (struct list_link *link = list_first(list); link; link = list_next(list, link)) {
        struct operation *operation = container_of(link, struct command, link)->operation;
        if (operation && !operation->asynchronous && operation->phase != PHASE_DONE) {
            struct call *call = container_of(operation, struct call, operation);
            if (call->inside) {
                return call;
            }
        }
    }
    return NULL;
}

/* The caller, now inside, whose command has waited longest. */
static struct call *next_reader(const struct port *port) {
    const struct lane *lane = &port->client->engine.lanes[port->lane];
    struct call *next = caller_of(&lane->sent);
    next = next ? next : caller_of(&lane->unsettled);
    return next ? next : caller_of(&lane->unsent);
}

bool drive_has_reader(const struct port *port) {
    return next_reader(port) != NULL;
}

/* Nobody reads: wakes the next reader, or has the keeper mind the lane if there is none. */
void drive_pass_role(struct port *port, int64_t now) {
    struct call *next = port->reading ? NULL : next_reader(port);
    if (next) {
        port->unread_since = 0;
        port->reader_comes = true;
        client_wake(port->client, next->word);
    } else {
        port->reader_comes = false;
        port_mind(port, now);
    }
}

/* Something of it is under way there. */
bool drive_should_read(const struct call *call) {
    const struct operation *operation = &call->operation;
    if (operation->phase == PHASE_HANDED) {
        return operation->resource->contest->handing->lane == operation->lane;
    }
    return operation->phase == PHASE_ASKING;
}

void drive_pass_roles(struct client *client, const struct port *except) {
    for (int i = 0; i < LANE_COUNT; i++) {
        struct port *port = &client->ports[i];
        if (port != except && port_is_callers(port)) {
            drive_pass_role(port, 0);
        }
    }
}

/* Drives the call until it is done or `until` has come. The mutex is held before and after. */
void drive_until(struct call *call, int64_t until) {
    struct client *client = call->client;
    struct operation *operation = &call->operation;
    struct port *port = &client->ports[operation->lane];
    call->inside = true;
    while (!is_done(call)) {
        drive_pass_roles(client, port);
        int64_t now = system_now();
        if (is_cancelled(call)) {
            engine_abort(&client->engine, operation, REDLATCH_CANCELLED, now);
            client_outputs(client, now);
        } else if (now >= operation->wait_until) {
            engine_abort(&client->engine, operation, REDLATCH_TIMEOUT, now);
            client_outputs(client, now);
        } else if (now >= until) {
            break;
        } else {
            int64_t limit = operation->wait_until < until ? operation->wait_until : until;
            if (drive_should_read(call) && !port->reading) {
                port->reading = true;
                port->reader_comes = false;
                port->unread_since = 0;
                port_flush(port); /* what was left to the reader; the mutex is dropped for a moment */
                if (!is_done(call)) {
                    read_turn(port, call, limit);
                }
                port->reading = false;
            } else {
                drive_pass_role(port, now); /* it may have been this call's until now */
                sleep_until_woken(call, limit);
            }
        }
    }
    call->inside = false;
    drive_pass_roles(client, NULL);
}

/* Drives a call to its end and returns its status. */
int drive(struct call *call) {
    drive_until(call, NEVER);
    return call->operation.status;
}
