/* A lane's connection: commands into it, replies out of it, opening it again when it broke.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>

#include "client.h"

/* With this many commands under way a connection is shared, and writing is left to its reader, who gathers them, unless
 * as many are waiting to be written as are worth a write of their own. While yielding does not pay, a stranger has the
 * processor, and a reader who is to come may be long in coming: fewer are gathered, and only by one who is there. */
enum { SHARED_FROM = 3, BUSY_FROM = 6, GATHER_MOST = 8 };

/* A connection that has been unused for so long is looked at before it is written to: its end may have come unseen. */
static const int64_t UNUSED = MILLISECOND / 10;

/* How often the keeper asks whether a name has been looked up. */
static const int64_t LOOKUP_PAUSE = 20 * MILLISECOND;

/* How soon writing is tried again for which there was no memory. */
static const int64_t STARVED_PAUSE = 5 * MILLISECOND;

bool port_is_callers(const struct port *port) {
    return port->lane != LANE_HOST && port->lane != LANE_KEEPER;
}

/* What to poll for. Who is writing sees to the output. */
short port_events(const struct port *port) {
    return port->writing ? POLLIN : connection_events(&port->connection);
}

/* Whether its callers wait for each other's commands and replies. */
bool port_is_shared(const struct port *port) {
    return port->client->engine.lanes[port->lane].in_flight >= SHARED_FROM;
}

bool port_has_work(const struct port *port) {
    const struct lane *lane = &port->client->engine.lanes[port->lane];
    return lane->in_flight > 0 || !list_is_empty(&lane->unsent) || !list_is_empty(&lane->unsettled);
}

/* Whether something is to be given back for which nobody waits any more: another may wait for it. */
static bool owes_release(const struct list *list) {
    for (const struct list_link *link = list_first(list); link; link = list_next(list, link)) {
        const struct command *command = container_of(link, struct command, link);
        if (!command->operation && (command->kind == COMMAND_RELEASE || command->kind == COMMAND_HAND_OVER)) {
            return true;
        }
    }
    return false;
}

/* CLOSED: when it may be opened again. */
static int64_t retry_at(const struct port *port) {
    const struct lane *lane = &port->client->engine.lanes[port->lane];
    bool urgent = owes_release(&lane->unsent) || owes_release(&lane->unsettled);
    return urgent ? port->connection.retry_soon_at : port->connection.retry_at;
}

/* On its way to being READY. */
bool port_is_opening(const struct port *port) {
    return port->connection.state == CONNECTION_OPENING || port->connection.state == CONNECTION_GREETING;
}

/* The connection is of no more use. While somebody writes to it without the mutex, that one will see to it. */
static void broken(struct port *port, const char *why, int64_t now) {
    struct client *client = port->client;
    if (port->writing) {
        port->failure = why;
        return;
    }
    struct connection *connection = &port->connection;
    port->failure = NULL;
    port->ended = false;
    if (port->in_set) {
        system_set_remove(client->event_set, connection->fd);
        port->in_set = false;
    }
    connection->unanswered = client->engine.lanes[port->lane].in_flight > 0;
    /* Made again ahead of need where something is held; but not if it was, and nobody needed it. */
    port->wanted = port->wanted || (client->engine.stats.held > 0 && connection->served);
    connection_fail(connection, why, now);
    engine_lane_lost(&client->engine, port->lane, now);
    client_kick_keeper(client);
}

/* Puts what the lane has to say into the connection's buffer. */
static void fill(struct port *port, int64_t now) {
    struct engine *engine = &port->client->engine;
    if (engine->lanes[port->lane].in_flight == 0) {
        port->heard_at = now;
    }
    struct output *output = &port->connection.output;
    struct command *command;
    while ((command = engine_first_to_send(engine, port->lane)) != NULL) {
        if (!output_reserve(output, output_command_bound(engine, command))) {
            port->starved_until = now + STARVED_PAUSE; /* the callers' time-outs go on */
            return;
        }
        output_command(output, engine, engine_next_to_send(engine, port->lane, now));
    }
    port->starved_until = 0;
}

/* Whoever was opening the connection has left: the keeper goes on, or it would be found with its time long over. */
static void mind_opening(struct port *port) {
    if (port->client->keeper_started) {
        client_kick_keeper(port->client);
    } else {
        connection_close(&port->connection);
    }
}

/* Notes that nobody reads although there is something to read; the keeper will after a moment. */
void port_mind(struct port *port, int64_t now) {
    struct client *client = port->client;
    if (port->ended && !port->reading) {
        client_kick_keeper(client);
    }
    if (port->reading || !port_has_work(port)) {
        port->unread_since = 0;
        if (!port->reading && port_is_opening(port)) {
            mind_opening(port);
        }
        return;
    }
    if (port->unread_since == 0) {
        port->unread_since = now ? now : system_now();
    }
    bool at_once = port->lane == LANE_KEEPER || (port->lane == LANE_HOST && port->connection.state != CONNECTION_READY);
    if (at_once || port->unread_since + UNREAD_LIMIT < client->keeper_wakes_at) {
        client_kick_keeper(client);
    }
}

/* Hands the buffer to the kernel without the mutex: it costs more than all else of a call. Only the reader may close
 * the connection, so a failure is left to it if there is one. */
static void write_out(struct port *port) {
    port->writing = true;
    client_unlock(port->client);
    int status = connection_flush(&port->connection);
    client_lock(port->client);
    port->writing = false;
    if (status != REDLATCH_OK) {
        port->failure = "the connection broke";
    }
    if (port->failure && !port->reading) {
        broken(port, port->failure, system_now());
    }
}

static bool is_longer(const struct list *list, int count) {
    const struct list_link *link = list_first(list);
    while (link && count-- > 0) {
        link = list_next(list, link);
    }
    return link != NULL;
}

/* Whether what there is to write is left to a reader who waits for the next reply, or is on the way. */
static bool is_gathered(const struct port *port) {
    const struct lane *lane = &port->client->engine.lanes[port->lane];
    bool yields = client_yields(port->client);
    bool reader = port->reader_waits || (yields && port->reader_comes);
    return reader && lane->in_flight >= (yields ? SHARED_FROM : BUSY_FROM) && !is_longer(&lane->unsent, GATHER_MOST);
}

/* Whether the connection has ended while nothing was under way. What is written to it now would count as sent, although
 * it cannot reach the server. Who reads it sees the end, too, and gives it up. */
static bool ended_unused(struct port *port, int64_t now) {
    bool unused = port->client->engine.lanes[port->lane].in_flight == 0 && now - port->heard_at >= UNUSED;
    if (!unused || !connection_has_ended(&port->connection)) {
        return false;
    }
    if (!port->reading) {
        broken(port, "the server closed the connection", now);
    }
    return true;
}

/* Writes what the lane has to say, unless that is gathered. May drop the mutex for a moment. */
void port_flush(struct port *port) {
    const struct lane *lane = &port->client->engine.lanes[port->lane];
    bool went = true;
    while (went && port->connection.state == CONNECTION_READY && !port->writing && !port->failure &&
           !atomic_load(&port->client->stopping) && !is_gathered(port)) {
        if (!list_is_empty(&lane->unsent)) {
            int64_t now = system_now(); /* a caller's time may be old: writing drops the mutex */
            if (ended_unused(port, now)) {
                return;
            }
            fill(port, now);
        }
        if (!output_pending(&port->connection.output)) {
            break;
        }
        write_out(port);
        went = !output_pending(&port->connection.output); /* else the reader writes when the kernel takes more */
    }
}

/* Takes what the reader has read (< 0: the end of the connection) and steps the machines. */
void port_take(struct port *port, ssize_t got, int64_t now) {
    struct client *client = port->client;
    struct connection *connection = &port->connection;
    if (got < 0) {
        broken(port, "the server closed the connection", now);
        return;
    }
    if (got > 0 && connection_feed(connection, port->staging, (size_t)got) != REDLATCH_OK) {
        broken(port, "out of memory", now);
        return;
    }
    int status = REDLATCH_OK;
    struct engine *engine = &client->engine;
    while (connection_next_reply(connection, engine_reply_size_max(engine, port->lane), &port->holder, &status)) {
        if (engine->lanes[port->lane].in_flight == 0) {
            status = REDLATCH_PROTOCOL; /* a reply to nothing */
            break;
        }
        port->heard_at = now; /* pieces do not count: a peer that drips is as good as dead */
        engine_replied(engine, port->lane, &port->holder.reply, now);
    }
    if (status != REDLATCH_OK) {
        broken(port, "what the server answers is not the Redis protocol, or longer than any answer", now);
    } else if (port->failure) {
        broken(port, port->failure, now);
    }
}

/* A peer that owes replies and has sent nothing for long is dead. Renewals must not wait that long. */
static int64_t peer_limit(const struct port *port) {
    const struct client *client = port->client;
    int64_t limit = client->connection_settings.dead_peer_timeout;
    int64_t part = client->engine.settings.watchdog_lease_ms * MILLISECOND / 6;
    return port->lane == LANE_KEEPER && part < limit ? part : limit;
}

void port_check_peer(struct port *port, int64_t now) {
    bool owes = port->connection.state == CONNECTION_READY && port->client->engine.lanes[port->lane].in_flight > 0;
    if (owes && now - port->heard_at >= peer_limit(port)) {
        broken(port, "no reply for too long", now);
    }
}

/* When the reader has to look again by itself. */
int64_t port_next_time(const struct port *port) {
    const struct connection *connection = &port->connection;
    if (port->lookup) {
        return system_now() + LOOKUP_PAUSE;
    }
    if (connection->state == CONNECTION_CLOSED) {
        return port_has_work(port) || port->wanted ? retry_at(port) : NEVER;
    }
    if (connection->state != CONNECTION_READY) {
        return connection->deadline;
    }
    const struct lane *lane = &port->client->engine.lanes[port->lane];
    int64_t limit = lane->in_flight > 0 ? port->heard_at + peer_limit(port) : NEVER;
    bool starved = port->starved_until && !list_is_empty(&lane->unsent);
    return starved && port->starved_until < limit ? port->starved_until : limit;
}

static void became_ready(struct port *port, int64_t now) {
    struct client *client = port->client;
    client->engine.stats.reconnects += port->connection.generation > 1;
    port->heard_at = now;
    port->wanted = false;
    port->must_look_up = false;
    engine_lane_ready(&client->engine, port->lane, (enum settlement)port->connection.settlement, now);
    client_kick_keeper(client); /* to watch for its end */
}

/* No connection could be made. What an operation wanted to say was not sent, whatever became of the greeting. */
static void lane_failed(struct port *port, int status, int64_t now) {
    port->must_look_up = true;
    engine_lane_failed(&port->client->engine, port->lane, status == REDLATCH_NO_REPLY ? REDLATCH_UNREACHABLE : status,
                       now);
}

/* Goes one step towards a connection. OK when it is there, AGAIN while there is something to wait for, else why an
 * attempt failed. The addresses must be resolved. Only for the reader. */
int port_connect(struct port *port, int64_t now) {
    struct connection *connection = &port->connection;
    if (connection->state == CONNECTION_READY) {
        return REDLATCH_OK;
    }
    int status = REDLATCH_OK;
    if (connection->state == CONNECTION_CLOSED) {
        if (now < retry_at(port)) {
            return REDLATCH_AGAIN;
        }
        status = connection_open(connection, now);
    }
    if (status == REDLATCH_OK) {
        status = connection_advance(connection, now);
    }
    if (status == REDLATCH_OK) {
        became_ready(port, now);
    } else if (status != REDLATCH_AGAIN && connection->address > 0) {
        status = REDLATCH_AGAIN; /* the name has further addresses */
    } else if (status != REDLATCH_AGAIN) {
        lane_failed(port, status, now);
    }
    return status;
}

/* Takes the addresses of a lane that is connected: a look-up may take long, and a renewal may be due. */
static bool borrow_addresses(struct port *port) {
    for (int i = 0; i < LANE_COUNT && !port->must_look_up; i++) {
        const struct connection *other = &port->client->ports[i].connection;
        if (other->state == CONNECTION_READY) {
            port->connection.addresses = other->addresses;
            return true;
        }
    }
    return false;
}

/* Looks up the server's addresses if they are not known, without the mutex, waiting until `until` at most; only for the
 * reader. true if there was nothing to wait for or it went well; else it failed, or goes on: port->lookup tells. */
bool port_resolve(struct port *port, int64_t until) {
    struct client *client = port->client;
    struct connection *connection = &port->connection;
    int64_t now = system_now();
    if (connection->state != CONNECTION_CLOSED || connection->addresses.count > 0 || now < retry_at(port) ||
        resolve_at_once(&client->uri, &connection->addresses) || borrow_addresses(port)) {
        return true;
    }
    if (!port->lookup) {
        port->lookup_until = now + client->connection_settings.connect_timeout;
    }
    until = until < port->lookup_until ? until : port->lookup_until;
    if (now < until) {
        client_unlock(client);
    }
    struct addresses found;
    int status = resolve(&client->uri, &port->lookup, until, &client->stopping, &found);
    if (now < until) {
        client_lock(client);
        now = system_now();
    }
    if (status == REDLATCH_OK) {
        connection->addresses = found;
        return true;
    }
    bool late = status == REDLATCH_AGAIN;
    if (late && now < port->lookup_until && !atomic_load(&client->stopping)) {
        return false;
    }
    lookup_drop(port->lookup);
    port->lookup = NULL;
    connection_fail(connection, late ? "the host name was not looked up in time" : "the host name has no address", now);
    lane_failed(port, late ? REDLATCH_UNREACHABLE : status, now);
    return false;
}
