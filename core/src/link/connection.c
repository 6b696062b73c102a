/* Opening, greeting and giving up connections.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "greeting.h"
#include "parsed.h"
#include "socket.h"
#include "system.h"

enum { FIRST_PAUSE_MS = 5, SHORT_PAUSE_MS = 40, LONG_PAUSE_MS = 500 };

/* The first byte of an alert, which a server that expects TLS sends to a client without it. */
enum { TLS_ALERT_RECORD = 0x15 };

/* How many bytes of an error reply are shown. */
enum { WORDS_MAX = 150 };

/* No reply to a greeting is longer; INFO's is some hundreds of bytes. */
enum { GREETING_MAX = 1 << 16 };

/* A connection that broke sooner, and without a reply to any command after the greeting, counts as a failed attempt. */
static const int64_t LASTING = SECOND;

void connection_init(struct connection *connection, const struct connection_settings *settings, bool subscriber) {
    memset(connection, 0, sizeof *connection);
    connection->settings = settings;
    connection->subscriber = subscriber;
    connection->fd = -1;
}

void connection_describe(const struct connection_settings *settings, char *text, size_t size) {
    const struct uri *uri = settings->uri;
    if (uri->path) {
        snprintf(text, size, "%s", uri->path);
    } else {
        snprintf(text, size, strchr(uri->host, ':') ? "[%s]:%d" : "%s:%d", uri->host, uri->port);
    }
}

/* Sets when to try again: after some milliseconds at first, after 0.5 to 1 s once 5 s have passed. The jitter spreads
 * clients. */
static void schedule_retry(struct connection *connection, int64_t now) {
    uint32_t cap = now - connection->down_since > 5 * SECOND ? LONG_PAUSE_MS : SHORT_PAUSE_MS;
    uint32_t pause = connection->pause_ms == 0 ? FIRST_PAUSE_MS : connection->pause_ms * 2;
    connection->pause_ms = pause < cap ? pause : cap;
    uint32_t jitter = 0;
    system_random(&jitter, sizeof jitter);
    uint32_t soon_ms = connection->pause_ms < SHORT_PAUSE_MS ? connection->pause_ms : SHORT_PAUSE_MS;
    connection->retry_at = now + connection->pause_ms * MILLISECOND + jitter % (connection->pause_ms * 1000);
    connection->retry_soon_at = now + soon_ms * MILLISECOND + jitter % (soon_ms * 1000);
}

static void drop(struct connection *connection) {
    tls_session_free(connection->tls);
    connection->tls = NULL;
    output_clear(&connection->sealed);
    output_clear(&connection->output);
    output_wipe(&connection->output); /* a greeting may have a password */
    replies_close(&connection->replies);
    connection->state = CONNECTION_CLOSED;
}

/* Forgets the descriptor before it is closed: a child that is forked in between must not close another file with its
 * number. */
static int take_descriptor(struct connection *connection) {
    int fd = connection->fd;
    connection->fd = -1;
    return fd;
}

void connection_note_error(struct connection *connection, const struct reply *reply) {
    size_t size = reply->size < WORDS_MAX ? reply->size : WORDS_MAX;
    for (size_t i = 0; i < size; i++) {
        connection->detail[i] = reply->text[i] >= ' ' && reply->text[i] <= '~' ? reply->text[i] : '.';
    }
    connection->detail[size] = '\0';
}

static bool is_shaking_hands(const struct connection *connection) {
    return connection->tls && !tls_session_is_established(connection->tls);
}

void connection_forget_addresses(struct connection *connection) {
    connection->addresses.count = 0;
    connection->address = 0;
    connection->give_up_at = 0;
}

void connection_fail(struct connection *connection, const char *why, int64_t now) {
    if (connection->fd >= 0 && is_shaking_hands(connection)) {
        close(take_descriptor(connection)); /* no command was sent; a TLS alert may still arrive */
    } else if (connection->fd >= 0) {
        socket_abort(take_descriptor(connection));
    }
    if (connection->state == CONNECTION_READY) {
        connection->old_id = connection->server_id;
        memcpy(connection->old_run_id, connection->run_id, sizeof connection->run_id);
    }
    char where[120];
    connection_describe(connection->settings, where, sizeof where);
    snprintf(connection->detail, sizeof connection->detail, "%s: %s", where, why);
    bool was_ready = connection->state == CONNECTION_READY;
    drop(connection);
    connection->address += !was_ready;
    bool further = !was_ready && connection->address < connection->addresses.count;
    if (was_ready && (connection->served || now - connection->ready_at >= LASTING)) {
        connection->down_since = 0;
    }
    bool first = connection->down_since == 0;
    if (first) {
        connection->down_since = now;
        connection->pause_ms = 0;
    }
    if ((was_ready && first) || further) {
        connection->retry_at = now; /* at once: the connection worked, or the name has a further address */
        connection->retry_soon_at = now;
    } else {
        schedule_retry(connection, now);
    }
    connection->give_up_at = further ? connection->give_up_at : 0;
    if (connection->address >= connection->addresses.count) {
        connection_forget_addresses(connection); /* a lookup comes next: the name may have moved */
    }
}

void connection_reject(struct connection *connection, const char *why, int64_t now) {
    connection->state = CONNECTION_GREETING;
    connection_fail(connection, why, now);
}

int connection_open(struct connection *connection, int64_t now) {
    const struct connection_settings *settings = connection->settings;
    connection->opened_at = now;
    connection->refused = false;
    if (now >= connection->give_up_at) {
        connection->give_up_at = now + settings->connect_timeout;
    }
    int left = connection->addresses.count - connection->address;
    connection->deadline = now + (connection->give_up_at - now) / left;
    if (!replies_open(&connection->replies)) {
        connection_fail(connection, "out of memory", now);
        return REDLATCH_NO_MEMORY;
    }
    if (settings->tls && !(connection->tls = tls_session_new(settings->tls, settings->uri->host))) {
        connection_fail(connection, "out of memory", now);
        return REDLATCH_NO_MEMORY;
    }
    connection->fd = socket_connecting(&connection->addresses.list[connection->address], settings->dead_peer_timeout);
    if (connection->fd < 0) {
        bool ours = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
        int status = ours ? REDLATCH_SYSTEM : REDLATCH_UNREACHABLE;
        connection_fail(connection, strerror(errno), now);
        return status;
    }
    connection->state = CONNECTION_OPENING;
    return REDLATCH_OK;
}

static int fail(struct connection *connection, int status, const char *why, int64_t now) {
    if (status == REDLATCH_AUTHENTICATION) { /* another address of the name is no better */
        connection->address = connection->addresses.count - 1;
    }
    connection_fail(connection, why, now);
    return status;
}

static int begin_greeting(struct connection *connection, int64_t now) {
    int failure = socket_outcome(connection->fd);
    if (failure == EINPROGRESS) {
        return now < connection->deadline
                   ? REDLATCH_AGAIN
                   : fail(connection, REDLATCH_UNREACHABLE, "no connection before the connect timeout", now);
    }
    if (failure != 0) {
        return fail(connection, REDLATCH_UNREACHABLE, strerror(failure), now);
    }
    if (greeting_begin(connection) != REDLATCH_OK) {
        return fail(connection, REDLATCH_NO_MEMORY, "out of memory", now);
    }
    connection->state = CONNECTION_GREETING;
    return REDLATCH_OK;
}

static void become_ready(struct connection *connection, int64_t now) {
    socket_let_sleep(connection->fd, CONNECTION_SLEEP);
    output_wipe(&connection->output);
    connection->state = CONNECTION_READY;
    connection->generation++;
    connection->ready_at = now;
    connection->served = false;
    connection->detail[0] = '\0';
}

/* Returns the text for a peer whose first bytes were no reply. */
static const char *not_redis(const struct connection *connection) {
    return connection->speaks_tls ? "the server speaks TLS: expected a rediss:// URL"
                                  : "the peer is not a Redis server";
}

static int take_answers(struct connection *connection, int64_t now) {
    static const struct reply_bounds bounds = {.size_max = GREETING_MAX};
    struct reply_holder holder = {0};
    int status = REDLATCH_OK;
    int result = REDLATCH_AGAIN;
    while (result == REDLATCH_AGAIN && connection_next_reply(connection, &bounds, &holder, &status)) {
        result = greeting_answer(connection, &holder.reply);
    }
    reply_holder_clear(&holder);
    if (status == REDLATCH_OK && result == REDLATCH_OK && connection->replies.unfinished > 0) {
        status = REDLATCH_PROTOCOL; /* more bytes than the replies */
    }
    if (status != REDLATCH_OK) {
        connection_write(connection); /* the alert, if TLS failed */
        return fail(connection, status, connection_why(connection, not_redis(connection)), now);
    }
    if (result == REDLATCH_OK) {
        become_ready(connection, now);
        return REDLATCH_OK;
    }
    if (result == REDLATCH_AGAIN) {
        return REDLATCH_AGAIN;
    }
    if (result == REDLATCH_READ_ONLY) {
        return fail(connection, result, "a replica: expected the master", now);
    }
    char why[300];
    snprintf(why, sizeof why, "the server returned an error: %.250s", connection->detail);
    return fail(connection, result, why, now);
}

static int greet(struct connection *connection, int64_t now) {
    int status = connection_write(connection);
    char bytes[4096];
    ssize_t got = status == REDLATCH_OK || connection->step == 0 ? connection_read(connection, bytes, sizeof bytes)
                                                                 : -1;
    if (got < 0) {
        const char *why = is_shaking_hands(connection) ? "the server closed the connection in the TLS handshake"
                          : connection->step == 0 && !connection->tls
                              ? "the server closed the connection before any reply: a TLS port needs a rediss:// URL"
                              : "the server closed the connection";
        return fail(connection, REDLATCH_UNREACHABLE, why, now);
    }
    status = REDLATCH_AGAIN;
    if (got > 0) {
        if (connection_feed(connection, bytes, (size_t)got) != REDLATCH_OK) {
            return fail(connection, REDLATCH_NO_MEMORY, "out of memory", now);
        }
        status = take_answers(connection, now);
        if (status == REDLATCH_AGAIN) {
            connection_write(connection); /* a failure shows at the next step */
        }
    }
    if (status == REDLATCH_AGAIN && now >= connection->deadline) {
        const char
            *why = is_shaking_hands(connection)
                       ? "connected, but the TLS handshake did not end before the connect timeout: expected a TLS port"
                       : "connected, but no reply before the connect timeout";
        return fail(connection, REDLATCH_NO_REPLY, why, now);
    }
    return status;
}

int connection_advance(struct connection *connection, int64_t now) {
    if (connection->state == CONNECTION_OPENING) {
        int status = begin_greeting(connection, now);
        if (status != REDLATCH_OK) {
            return status;
        }
    }
    return connection->state == CONNECTION_GREETING ? greet(connection, now) : REDLATCH_AGAIN;
}

short connection_events(const struct connection *connection) {
    if (connection->state == CONNECTION_OPENING) {
        return POLLOUT;
    }
    return connection_pending(connection) ? POLLIN | POLLOUT : POLLIN;
}

bool connection_has_ended(const struct connection *connection) {
    return socket_has_ended(connection->fd);
}

void connection_wait(const struct connection *connection, int64_t until) {
    struct pollfd socket = {connection->fd, connection_events(connection), 0}; /* a descriptor of -1 is ignored */
    int64_t next = connection->state == CONNECTION_CLOSED ? connection->retry_at : connection->deadline;
    system_poll(&socket, 1, next < until ? next : until);
}

int connection_seal(struct connection *connection) {
    struct tls_session *tls = connection->tls;
    if (!tls || tls_session_seal(tls, &connection->output, &connection->sealed)) {
        return REDLATCH_OK;
    }
    return tls_session_status(tls) == REDLATCH_OK ? REDLATCH_NO_MEMORY : tls_session_status(tls);
}

static struct output *outgoing(struct connection *connection) {
    return connection->tls ? &connection->sealed : &connection->output;
}

size_t connection_pending(const struct connection *connection) {
    return output_pending(connection->tls ? &connection->sealed : &connection->output);
}

int connection_write(struct connection *connection) {
    int sealed = connection_seal(connection);
    int flushed = connection_flush(connection); /* after a failure of TLS, too: it sends the alert */
    return sealed != REDLATCH_OK ? sealed : flushed;
}

int connection_flush(struct connection *connection) {
    struct output *output = outgoing(connection);
    while (output_pending(output)) {
        ssize_t sent = send(connection->fd, output->bytes + output->begin, output_pending(output),
                            SOCKET_NO_SIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0) {
            return errno == EAGAIN || errno == EWOULDBLOCK ? REDLATCH_OK : REDLATCH_UNREACHABLE;
        }
        output->begin += (size_t)sent;
    }
    return REDLATCH_OK;
}

static ssize_t receive(const struct connection *connection, char *bytes, size_t size, int flags) {
    ssize_t got = recv(connection->fd, bytes, size, flags);
    if (got > 0) {
        return got;
    }
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? 0 : -1;
}

ssize_t connection_read(const struct connection *connection, char *bytes, size_t size) {
    return receive(connection, bytes, size, MSG_DONTWAIT);
}

ssize_t connection_sleep_and_read(const struct connection *connection, char *bytes, size_t size) {
    return receive(connection, bytes, size, 0);
}

int connection_feed(struct connection *connection, const char *bytes, size_t size) {
    if (!connection->tls) {
        bool first = connection->state == CONNECTION_GREETING && connection->step == 0;
        connection->speaks_tls = first && bytes[0] == TLS_ALERT_RECORD;
        return replies_feed(&connection->replies, bytes, size);
    }
    bool taken = tls_session_receive(connection->tls, bytes, size);
    char plain[4096];
    size_t got;
    while (taken && (got = tls_session_read(connection->tls, plain, sizeof plain)) > 0) {
        taken = replies_feed(&connection->replies, plain, got) == REDLATCH_OK;
    }
    return taken ? REDLATCH_OK : REDLATCH_NO_MEMORY;
}

const char *connection_why(const struct connection *connection, const char *otherwise) {
    bool failed = connection->tls && tls_session_status(connection->tls) != REDLATCH_OK;
    return failed ? tls_session_failure(connection->tls) : otherwise;
}

bool connection_next_reply(struct connection *connection, const struct reply_bounds *bounds,
                           struct reply_holder *holder, int *status_out) {
    void *parsed;
    int status = replies_next(&connection->replies, bounds, &parsed);
    if (status == REDLATCH_AGAIN && connection->tls && tls_session_status(connection->tls) != REDLATCH_OK) {
        *status_out = tls_session_status(connection->tls);
        return false;
    }
    if (status == REDLATCH_OK && !reply_holder_show(holder, parsed)) {
        status = REDLATCH_PROTOCOL;
    }
    if (status != REDLATCH_OK) {
        *status_out = status == REDLATCH_AGAIN ? *status_out : status;
        return false;
    }
    connection->served = connection->state == CONNECTION_READY;
    return true;
}

void connection_close(struct connection *connection) {
    if (connection->fd >= 0) {
        if (connection->tls) {
            tls_session_end(connection->tls, &connection->sealed);
            connection_flush(connection); /* sends close_notify, if the socket takes it */
        }
        shutdown(connection->fd, SHUT_RDWR);
        close(take_descriptor(connection));
    }
    drop(connection);
    connection->give_up_at = 0;
}

void connection_replace(struct connection *freed, struct connection *by) {
    uint32_t generation = freed->generation;
    *freed = *by;
    freed->generation = generation;
    replies_moved(&freed->replies);
    connection_init(by, freed->settings, freed->subscriber);
}

void connection_forget(struct connection *connection) {
    if (connection->fd >= 0) {
        close(take_descriptor(connection));
    }
}

void connection_free(struct connection *connection) {
    tls_session_free(connection->tls);
    connection->tls = NULL;
    output_free(&connection->output);
    output_free(&connection->sealed);
}
