/* A pipeline's connection: writes commands, receives replies, and opens the connection again after it broke.
 * SPDX-License-Identifier: Apache-2.0 */
#include "pipeline_io.h"

#include <poll.h>

#include "client_lock.h"
#include "cluster.h"
#include "error_reply.h"
#include "planted.h"
#include "reroute.h"
#include "socket.h"

/* From SHARED_FROM commands in flight on, callers share the connection: its reader gathers their commands into one
 * write. More than GATHER_MOST unsent commands get a write of their own. While yielding does not pay, other programs
 * use the processor, and a woken reader may come late: then only a reader at the socket gathers, from BUSY_FROM on. */
enum { SHARED_FROM = 3, BUSY_FROM = 6, GATHER_MOST = 8 };

/* A connection that was unused for this long is checked for its end before a write: the end may be unnoticed. */
static const int64_t UNUSED = MILLISECOND / 10;

/* How often a reader checks whether a lookup is done. */
static const int64_t LOOKUP_PAUSE = 20 * MILLISECOND;

/* How soon a write is tried again after there was no memory for it. */
static const int64_t STARVED_PAUSE = 5 * MILLISECOND;

bool io_is_callers(const struct pipeline_io *io) {
    return io->pipeline->role != PIPELINE_HOST && io->pipeline->role != PIPELINE_BACKGROUND;
}

bool io_is_lent(const struct pipeline_io *io) {
    return engine_wants_acknowledgements(&io->client->engine) && io->pipeline->role >= PIPELINE_CALLERS_SECOND;
}

/* Returns what to poll for. A thread that is writing takes care of the output. */
short io_poll_events(const struct pipeline_io *io) {
    return io->writing ? POLLIN : connection_events(&io->connection);
}

/* Returns whether callers share the connection: they wait for each other's commands and replies. */
bool io_is_shared(const struct pipeline_io *io) {
    return io->pipeline->in_flight - io->pipeline->unconfirmed >= SHARED_FROM;
}

static bool expects_replies(const struct pipeline_io *io) {
    return io->authentication.pending || io->pipeline->in_flight > 0;
}

bool io_has_work(const struct pipeline_io *io) {
    const struct pipeline *pipeline = io->pipeline;
    return expects_replies(io) || !list_is_empty(&pipeline->unsent) || !list_is_empty(&pipeline->in_doubt);
}

/* Returns whether the list has a release that no caller waits for. Another client may wait for the lock. */
static bool needs_release(const struct list *list) {
    for (const struct list_link *link = list_first(list); link; link = list_next(list, link)) {
        const struct command *command = container_of(link, struct command, link);
        if (!command->operation && (command->kind == COMMAND_RELEASE || command->kind == COMMAND_HAND_OVER)) {
            return true;
        }
    }
    return false;
}

/* Returns when the connection may be opened again. The pause is shorter if the pipeline has a release that no caller
 * waits for, until most such locks have ended by themselves: for the time of a watchdog lease. */
int64_t io_retry_at(const struct pipeline_io *io) {
    const struct pipeline *pipeline = io->pipeline;
    const struct connection *connection = &io->connection;
    int64_t lease = io->client->engine.settings.watchdog_lease_ms * MILLISECOND;
    bool urgent = connection->retry_soon_at - connection->down_since <= lease &&
                  (needs_release(&pipeline->unsent) || needs_release(&pipeline->in_doubt));
    return urgent ? connection->retry_soon_at : connection->retry_at;
}

bool io_is_opening(const struct pipeline_io *io) {
    return io->connection.state == CONNECTION_OPENING || io->connection.state == CONNECTION_GREETING;
}

/* Forgets the addresses. The next connection is made at once, to those that are found then. */
static void forget_address(struct pipeline_io *io, int64_t now) {
    struct connection *connection = &io->connection;
    connection_forget_addresses(connection);
    connection->down_since = 0;
    connection->retry_at = now;
    connection->retry_soon_at = now;
}

/* Gives up a connection that is not READY yet, because the client moved to another server. */
static void end_opening(struct pipeline_io *io, int64_t now) {
    io->moves = false;
    connection_fail(&io->connection, io->failure, now);
    io->failure = NULL;
    forget_address(io, now);
}

/* Gives a broken connection up. A thread that writes without the mutex, or the reader, does that afterwards. */
static void broken(struct pipeline_io *io, const char *why, int64_t now) {
    struct client *client = io->client;
    if (io->writing) {
        io->failure = why;
        return;
    }
    struct connection *connection = &io->connection;
    io->failure = NULL;
    io->ended = false;
    authentication_forget(io);
    reply_free(io->kept);
    io->kept = NULL;
    if (io->in_set) {
        system_set_remove(client->event_set, connection->fd);
        io->in_set = false;
    }
    if (!io->moves) { /* else move() has noted that */
        connection->unanswered = io->pipeline->in_flight > 0;
    }
    /* If anything is held, the connection is made again before it is needed; not if nothing was answered on the last
     * one, and not if the node has left the cluster. */
    bool is_part = !client->cluster || io->node->serves;
    io->wanted = is_part && (io->wanted || (client->engine.stats.held > 0 && connection->served));
    connection_fail(connection, why, now);
    if (io->moves) {
        io->moves = false;
        forget_address(io, now);
    }
    engine_pipeline_lost(&client->engine, io->pipeline, now);
    if (client->cluster) {
        engine_importer_failed(&client->engine, io->pipeline);
        engine_reroute(&client->engine, &io->node->server, now);
        cluster_doubted(client, now);
    }
    client_kick_background(client);
}

static const char MOVED[] = "the client moved to another server";

/* Gives the pipeline's connection up, because the client moved to another server. Later replies of the old server are
 * not believed. A thread that reads or writes the connection closes it; until then nothing is written to it. */
static void move(struct pipeline_io *io, int64_t now) {
    struct client *client = io->client;
    struct connection *connection = &io->connection;
    if (connection->state == CONNECTION_CLOSED) {
        forget_address(io, now);
        return;
    }
    if (connection->state == CONNECTION_READY && !io->moves) { /* else: noted when the last one was lost */
        connection->unanswered = io->pipeline->in_flight > 0;
        engine_pipeline_lost(&client->engine, io->pipeline, now);
    }
    io->moves = true;
    io->failure = MOVED;
    authentication_forget(io);
    if (io_is_read(io) || io->writing) {
        socket_wake(connection->fd);
    } else if (connection->state == CONNECTION_READY) {
        broken(io, MOVED, now);
    } else {
        end_opening(io, now);
    }
}

static void move_all(struct node *node, const struct pipeline_io *except, int64_t now) {
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        if (&node->ios[i] != except && !PLANTED(FAULT_ONE_CONNECTION_MOVES)) {
            move(&node->ios[i], now);
        }
    }
    struct subscriber *subscriber = &node->subscriber;
    subscriber->moves = subscriber->connection.state != CONNECTION_CLOSED && !PLANTED(FAULT_LISTENS_TO_OLD);
    connection_forget_addresses(&subscriber->connection);
    subscriber->connection.retry_at = now;
}

void io_follow_routes(struct client *client, int64_t now) {
    if (!client->cluster || !client->cluster->changed) {
        return;
    }
    client->cluster->changed = false;
    for (struct node *node = client->node.next; node; node = node->next) {
        if (node->served && !node->serves) {
            move_all(node, NULL, now);
        }
        node->served = node->serves;
    }
    for (struct node *node = &client->node; node; node = node->next) {
        engine_reroute(&client->engine, &node->server, now);
    }
    client_kick_background(client);
}

void io_move_all(struct node *node, const struct pipeline_io *except, int64_t now) {
    move_all(node, except, now);
    engine_server_changed(&node->client->engine, &node->server, now);
    client_kick_background(node->client);
}

/* Puts the unsent commands into the connection's buffer. */
static void fill(struct pipeline_io *io, int64_t now) {
    struct engine *engine = &io->client->engine;
    struct output *output = &io->connection.output;
    struct command *command;
    while ((command = engine_first_to_send(engine, io->pipeline, now)) != NULL) {
        if (!output_reserve(output, output_command_size(engine, command))) {
            io->starved_until = now + STARVED_PAUSE; /* the callers' deadlines still end their calls */
            return;
        }
        output_command(output, engine, engine_next_to_send(engine, io->pipeline, now));
    }
    engine_hold_back(engine, io->pipeline, now);
    io->starved_until = 0;
}

/* The caller that was opening the connection has left. The background thread goes on; otherwise the next caller would
 * find the attempt past its deadline. */
static void continue_opening(struct pipeline_io *io) {
    if (io->client->background_started) {
        client_kick_background(io->client);
    } else {
        connection_close(&io->connection);
    }
}

/* Notes since when something is under way unread. The background thread reads it at once or after UNREAD_LIMIT. */
void io_watch_unread(struct pipeline_io *io, int64_t now) {
    struct client *client = io->client;
    if (io->ended && !io_is_read(io)) {
        client_kick_background(client);
    }
    if (io_is_read(io) || !io_has_work(io)) {
        io->unread_since = 0;
        if (!io_is_read(io) && io_is_opening(io)) {
            continue_opening(io);
        }
        return;
    }
    if (io->unread_since == 0) {
        io->unread_since = now ? now : system_now();
    }
    bool at_once = io->pipeline->role == PIPELINE_BACKGROUND || io_is_lent(io) || io_is_read_for_host(io) ||
                   (io->pipeline->role == PIPELINE_HOST && io->connection.state != CONNECTION_READY);
    int64_t limit = io->unread_since + UNREAD_LIMIT;
    if (at_once || limit < client->background_wakes_at) {
        client->unread_until = io->pipeline->unconfirmed > 0 ? limit : client->unread_until;
        client_kick_background(client);
    }
}

/* Hands the buffer to the kernel without the mutex: that costs more than all the rest of a call. If there is a reader,
 * only it may close the connection, so a failure is left to it. */
static void write_out(struct pipeline_io *io) {
    io->writing = true;
    client_unlock(io->client);
    int status = connection_flush(&io->connection);
    client_lock(io->client);
    io->writing = false;
    authentication_sent(io);
    if (status != REDLATCH_OK) {
        io->failure = "the connection broke";
    }
    if (io->failure && !io_is_read(io)) {
        broken(io, io->failure, system_now());
    }
}

static bool is_longer(const struct list *list, int count) {
    const struct list_link *link = list_first(list);
    while (link && count-- > 0) {
        link = list_next(list, link);
    }
    return link != NULL;
}

/* Returns whether the unsent commands are left to a reader that waits for the next reply, or that was woken. */
static bool is_gathered(const struct pipeline_io *io) {
    const struct pipeline *pipeline = io->pipeline;
    bool yields = client_yields(io->client);
    bool reader = io->reader == READER_AT_SOCKET || (yields && io->reader == READER_COMING);
    return reader && pipeline->in_flight >= (yields ? SHARED_FROM : BUSY_FROM) &&
           !is_longer(&pipeline->unsent, GATHER_MOST);
}

/* Returns whether the connection has ended while nothing was under way. A command written to it now would count as sent
 * but could not reach the server. A reader, if there is one, sees the end, too, and gives the connection up. */
static bool ended_unused(struct pipeline_io *io, int64_t now) {
    bool unused = !expects_replies(io) && now - io->received_at >= UNUSED;
    if (!unused || !connection_has_ended(&io->connection)) {
        return false;
    }
    if (!io_is_read(io)) {
        broken(io, "the server closed the connection", now);
    }
    return true;
}

/* Encrypts the buffer if the connection has TLS. Returns false if the connection cannot be used any more. */
static bool seal(struct pipeline_io *io) {
    if (connection_seal(&io->connection) == REDLATCH_OK) {
        return true;
    }
    io->failure = connection_why(&io->connection, "out of memory");
    if (!io_is_read(io)) {
        broken(io, io->failure, system_now());
    }
    return false;
}

/* Writes the unsent commands, unless a reader gathers them. May drop the mutex for a moment. */
void io_flush(struct pipeline_io *io) {
    const struct pipeline *pipeline = io->pipeline;
    bool went = true;
    while (went && io->connection.state == CONNECTION_READY && !io->writing && !io->failure &&
           !atomic_load(&io->client->stopping) && !is_gathered(io)) {
        bool authenticates = authentication_is_due(io);
        if (authenticates || !list_is_empty(&pipeline->unsent)) {
            int64_t now = system_now(); /* a caller's time may be old: writing drops the mutex */
            if (ended_unused(io, now)) {
                return;
            }
            io->received_at = expects_replies(io) ? io->received_at : now;
            if (authenticates) {
                authentication_say(io);
            }
            fill(io, now);
        }
        if (!seal(io) || connection_pending(&io->connection) == 0) {
            break;
        }
        write_out(io);
        went = connection_pending(&io->connection) == 0; /* else the reader writes when the kernel takes more */
    }
}

/* Shows the next reply in the holder. Returns false if there is none, or, with a status that is not OK, none that can
 * be read. */
static bool next_reply(struct pipeline_io *io, int *status_out, int64_t now) {
    bool authenticates = authentication_is_next(io);
    struct reply_bounds bounds = {.size_max = AUTHENTICATION_REPLY_MAX};
    if (!authenticates) {
        bounds = (struct reply_bounds){engine_reply_size_max(io->pipeline), engine_reply_is_optional(io->pipeline)};
    }
    bool got = connection_next_reply(&io->connection, &bounds, &io->holder, status_out);
    if (*status_out == REDLATCH_PROTOCOL && !authenticates) {
        engine_reply_unreadable(&io->client->engine, io->pipeline, now);
    }
    return got;
}

static bool is_read_only(const struct reply *reply) {
    return reply->kind == REPLY_ERROR && error_reply_of(reply->text, reply->size).status == REDLATCH_READ_ONLY;
}

/* Gives up the connection to a server that is a replica now, and has the server looked up anew. */
static void search_elsewhere(struct pipeline_io *io, int64_t now) {
    broken(io, "the server is a replica now", now);
    connection_forget_addresses(&io->connection);
    io->must_lookup = true;
}

/* Returns whether any reply is due, including those to the WAIT or WAITAOF of a command that was already answered. */
static bool has_unanswered(const struct pipeline_io *io) {
    return expects_replies(io) || io->pipeline->awaited > 0;
}

/* Takes a reply to WAIT or WAITAOF. After the last one, shows the reply that was kept and returns true. Returns false
 * if more are due, or no reply was kept. */
static bool take_awaited(struct pipeline_io *io) {
    struct pipeline *pipeline = io->pipeline;
    pipeline->awaited--;
    if (!io->kept) {
        return false;
    }
    acknowledgement_take(&io->acknowledgement, &io->client->engine, &io->holder.reply);
    if (pipeline->awaited > 0) {
        return false;
    }
    reply_holder_show(&io->holder, io->kept);
    io->holder.reply.acknowledgement = &io->acknowledgement;
    io->kept = NULL;
    return true;
}

/* Hands a reply to the engine. A reply that counts only if it is acknowledged is kept until that is known. */
static void take_reply(struct pipeline_io *io, int64_t now) {
    struct engine *engine = &io->client->engine;
    struct pipeline *pipeline = io->pipeline;
    if (pipeline->awaited > 0 && !take_awaited(io)) {
        return;
    }
    if (io->client->cluster && engine_import_replied(pipeline)) {
        return;
    }
    if (engine_wants_acknowledgements(engine) && !io->holder.reply.acknowledgement) {
        pipeline->awaited = engine_acknowledgements_follow(engine, io->pipeline);
        if (pipeline->awaited > 0 && engine_keeps_reply(io->pipeline, &io->holder.reply)) {
            io->kept = reply_holder_take(&io->holder);
            acknowledgement_begin(&io->acknowledgement);
            return;
        }
    }
    if (!cluster_redirects(io, &io->holder.reply, now)) {
        engine_replied(engine, io->pipeline, &io->holder.reply, now);
    }
    io_follow_routes(io->client, now);
    if (io->client->cluster && io->client->node.current.must_search) {
        client_kick_background(io->client);
    }
}

void io_receive(struct pipeline_io *io, ssize_t got, int64_t now) {
    struct connection *connection = &io->connection;
    if (got < 0 || io->moves) {
        broken(io, io->moves ? MOVED : "the server closed the connection", now);
        return;
    }
    if (got > 0 && connection_feed(connection, io->staging, (size_t)got) != REDLATCH_OK) {
        broken(io, "out of memory", now);
        return;
    }
    int status = REDLATCH_OK;
    struct engine *engine = &io->client->engine;
    while (next_reply(io, &status, now)) {
        if (authentication_is_next(io)) {
            io->received_at = now;
            authentication_replied(io, &io->holder.reply);
            continue;
        }
        if (!has_unanswered(io)) {
            status = REDLATCH_PROTOCOL; /* a reply to nothing */
            break;
        }
        if (is_read_only(&io->holder.reply) && !PLANTED(FAULT_READ_ONLY_RETURNED) &&
            current_server_may_be_elsewhere(io->node, now)) {
            engine_refused_by_replica(engine, io->pipeline);
            search_elsewhere(io, now);
            return;
        }
        io->received_at = now;            /* incomplete replies do not count: they do not show that the peer is alive */
        if (io->pipeline->awaited == 0) { /* else it is a reply to WAIT or WAITAOF */
            authentication_passed(io);
        }
        take_reply(io, now);
        if (io->moves) { /* the node serves no slot any more */
            broken(io, MOVED, now);
            return;
        }
    }
    if (status != REDLATCH_OK) {
        static const char other[] = "what the server answers is not the Redis protocol, or longer than any answer";
        broken(io, connection_why(connection, other), now);
    } else if (io->failure) {
        broken(io, io->failure, now);
    }
}

/* Returns for how long a reply may be due before the peer counts as dead. A renewal must not wait for all of the dead
 * peer timeout. A server that waits for replicas is silent meanwhile. */
static int64_t peer_limit(const struct pipeline_io *io) {
    const struct client *client = io->client;
    int64_t limit = client->connection_settings.dead_peer_timeout;
    int64_t part = client->engine.settings.watchdog_lease_ms * MILLISECOND / 6;
    return (io->pipeline->role == PIPELINE_BACKGROUND && part < limit ? part : limit) + client->replica_silence;
}

/* A node of a cluster that was silent for this long while a reply was due may have been replaced. */
static const int64_t DOUBT_AFTER = SECOND / 2;

static int64_t doubted_next(const struct pipeline_io *io) {
    return (io->doubted_at > io->received_at ? io->doubted_at : io->received_at) + DOUBT_AFTER;
}

static void check_peer(struct pipeline_io *io, int64_t now) {
    bool waits_for_reply = io->connection.state == CONNECTION_READY && has_unanswered(io);
    if (waits_for_reply && now - io->received_at >= peer_limit(io)) {
        broken(io, "no reply for too long", now);
    } else if (waits_for_reply && io->client->cluster && now >= doubted_next(io)) {
        io->doubted_at = now;
        cluster_doubted(io->client, now);
        client_kick_background(io->client);
    }
}

void io_take(struct pipeline_io *io, ssize_t got, int64_t now) {
    io_receive(io, got, now);
    check_peer(io, now);
}

/* Returns when the reader has to act even if the socket has nothing. */
int64_t io_next_time(const struct pipeline_io *io) {
    const struct connection *connection = &io->connection;
    if (io->lookup) {
        return system_now() + LOOKUP_PAUSE;
    }
    if (connection->state == CONNECTION_CLOSED) {
        const struct search *search = io->client->node.current.search;
        int64_t now = system_now();
        int64_t retry_at = io_has_work(io) || io->wanted ? io_retry_at(io) : NEVER;
        bool waits = retry_at <= now && io_needs_search(io) && search_is_running(search);
        return waits ? search_next_time(search, now) : retry_at;
    }
    if (connection->state != CONNECTION_READY) {
        return connection->deadline;
    }
    const struct pipeline *pipeline = io->pipeline;
    int64_t limit = has_unanswered(io) ? io->received_at + peer_limit(io) : NEVER;
    if (limit < NEVER && io->client->cluster && doubted_next(io) < limit) {
        limit = doubted_next(io);
    }
    bool starved = io->starved_until && !list_is_empty(&pipeline->unsent);
    return starved && io->starved_until < limit ? io->starved_until : limit;
}

/* Called when the connection stands. Returns AGAIN if it leads to a server that the client has left. */
static int became_ready(struct pipeline_io *io, int64_t now) {
    struct client *client = io->client;
    enum server_change change = current_server_greeted(io->node, &io->connection, now);
    if (change == SERVER_STALE) {
        connection_reject(&io->connection, MOVED, now);
        forget_address(io, now);
        return REDLATCH_AGAIN;
    }
    if (change == SERVER_ALTERNATES) {
        connection_reject(
            &io->connection,
            "connections reach several server processes in turn: expected one server, or a proxy that does "
            "not balance",
            now);
        return REDLATCH_UNSUPPORTED;
    }
    if (!cluster_greeted(io->node, &io->connection, now)) {
        return REDLATCH_UNSUPPORTED;
    }
    if (change == SERVER_MOVED) {
        io_move_all(io->node, io, now);
    }
    client->engine.stats.reconnects += io->connection.generation > 1;
    io->received_at = now;
    io->wanted = false;
    io->must_lookup = false;
    io->searched = false;
    authentication_forget(io);
    authentication_succeeded(client, &io->connection);
    engine_pipeline_ready(&client->engine, io->pipeline, (enum resolution)io->connection.resolution, now);
    client_kick_background(client); /* to watch for its end */
    return REDLATCH_OK;
}

void io_failed(struct pipeline_io *io, int status, int64_t now) {
    io->must_lookup = true;
    io->searched = false;
    status = status == REDLATCH_NO_REPLY ? REDLATCH_UNREACHABLE : status;
    bool passes = redlatch_status_is_retryable(status) || (io->connection.refused && io->client->credentials_change);
    engine_pipeline_failed(&io->client->engine, io->pipeline, status, passes, now);
    engine_importer_failed(&io->client->engine, io->pipeline);
}

/* Called when an attempt failed. Returns AGAIN if another one is to be made: to a further address, with changed
 * credentials, or after a new search. Otherwise reports the failure and returns its status. */
static int connect_failed(struct pipeline_io *io, int status, int64_t now) {
    if (io->connection.address > 0) {
        return REDLATCH_AGAIN; /* the name has further addresses */
    }
    if (authentication_failed(io->client, &io->connection)) {
        forget_address(io, now);
        return REDLATCH_AGAIN;
    }
    if ((current_server_is_searched(&io->node->current) || io->client->cluster) && !io->searched) {
        io->must_lookup = true;
        forget_address(io, now);
        return REDLATCH_AGAIN;
    }
    io_failed(io, status == REDLATCH_READ_ONLY ? REDLATCH_UNREACHABLE : status, now);
    return status;
}

/* Goes one step towards a connection. Returns OK if it stands, AGAIN while there is something to wait for, or why an
 * attempt failed. io_lookup has found the addresses. Only the reader calls it. */
int io_connect(struct pipeline_io *io, int64_t now) {
    struct connection *connection = &io->connection;
    if (connection->state == CONNECTION_READY) {
        return REDLATCH_OK;
    }
    if (io->moves) {
        end_opening(io, now);
    }
    int status = REDLATCH_OK;
    if (connection->state == CONNECTION_CLOSED) {
        if (connection->addresses.count == 0 || now < io_retry_at(io)) {
            return REDLATCH_AGAIN;
        }
        status = connection_open(connection, now);
    }
    if (status == REDLATCH_OK) {
        status = connection_advance(connection, now);
    }
    if (status == REDLATCH_OK) {
        status = became_ready(io, now);
    }
    return status == REDLATCH_OK || status == REDLATCH_AGAIN ? status : connect_failed(io, status, now);
}
