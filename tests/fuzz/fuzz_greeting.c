/* Fuzz target: the bytes of a server on a new connection, in any pieces: the greeting, and replies behind it. The
 * connection becomes ready or fails with a reason. So does the next connection, which has to resolve what was in doubt.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <sys/un.h>
#include <unistd.h>

#include "connection.h"
#include "fuzz.h"
#include "greeting.h"
#include "parsed.h"
#include "uri.h"

enum { PIECE_MAX = 1024, REPLY_MAX = 1 << 16 };

static const char password[] = "S3CR3T";
static int listener = -1;
static struct address address;
static struct uri uri = {.path = "/run/redis.sock"};

/* A listening socket in the abstract namespace, which leaves no file. */
static void listen_once(void) {
    if (listener >= 0) {
        return;
    }
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "redlatch-fuzz-%d", (int)getpid());
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name.sun_path + 1));
    memcpy(&address.storage, &name, sizeof name);
    MUST(listener >= 0 && bind(listener, (struct sockaddr *)&name, address.size) == 0 && listen(listener, 8) == 0);
}

/* Reads each byte of a reply. */
static void check_reply(const struct reply *reply) {
    size_t zeros = 0;
    for (size_t i = 0; i < reply->size; i++) {
        zeros += reply->text[i] == '\0';
    }
    MUST(zeros <= reply->size);
    for (size_t i = 0; reply->kind == REPLY_ARRAY && i < reply->count; i++) {
        check_reply(&reply->elements[i]);
    }
}

/* Takes replies from a connection that is ready. Returns false when the connection cannot be used any more. */
static bool take_replies(struct connection *connection, struct reply_holder *holder) {
    static const struct reply_bounds bounds = {.size_max = REPLY_MAX};
    char bytes[PIECE_MAX];
    ssize_t got = connection_read(connection, bytes, sizeof bytes);
    int status = got > 0 ? connection_feed(connection, bytes, (size_t)got) : REDLATCH_OK;
    while (status == REDLATCH_OK && connection_next_reply(connection, &bounds, holder, &status)) {
        check_reply(&holder->reply);
    }
    MUST(status == REDLATCH_OK || status == REDLATCH_PROTOCOL);
    return status == REDLATCH_OK && got >= 0;
}

/* Checks that the connection agrees with its state. */
static void check_state(const struct connection *connection, int status) {
    MUST(connection->state == CONNECTION_CLOSED ? connection->fd < 0 : connection->fd >= 0);
    MUST(memchr(connection->run_id, '\0', sizeof connection->run_id));
    MUST(memchr(connection->detail, '\0', sizeof connection->detail));
    switch (status) {
    case REDLATCH_OK:
        MUST(connection->state == CONNECTION_READY && connection->step == connection->step_count);
        break;
    case REDLATCH_AGAIN:
        MUST(connection->state == CONNECTION_GREETING);
        break;
    default:
        MUST(connection->state == CONNECTION_CLOSED && connection->detail[0]);
        if (connection->settings->credentials->password &&
            connection->step <= 1) { /* an answer to AUTH may repeat it */
            MUST(!strstr(connection->detail, password));
        }
        break;
    }
}

/* Sends a piece of the input, whose first byte is its length. Returns false at the end of the input. */
static bool say_piece(int peer, struct input *input) {
    if (input->size == 0) {
        return false;
    }
    size_t size = 1 + (size_t)input_byte(input) * 4;
    size = size < input->size ? size : input->size;
    ssize_t sent = send(peer, input->bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    input->bytes += size;
    input->size -= size;
    return sent >= 0;
}

/* Plays one connection from its opening to its end. Returns false at the end of the input. */
static bool live(struct connection *connection, struct input *input) {
    struct reply_holder *holder = calloc(1, sizeof *holder);
    MUST(holder);
    int64_t now = 1000 * SECOND;
    connection->addresses.list[0] = address;
    connection->addresses.count = 1;
    connection->address = 0;
    MUST(connection_open(connection, now) == REDLATCH_OK);
    int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    MUST(peer >= 0);
    int status = connection_advance(connection, now);
    bool more = true;
    bool good = true;
    check_state(connection, status);
    while (good && (more = say_piece(peer, input))) {
        if (connection->state == CONNECTION_READY) {
            good = take_replies(connection, holder);
        } else {
            status = connection_advance(connection, now);
            check_state(connection, status);
            good = connection->state != CONNECTION_CLOSED;
        }
    }
    close(peer);
    if (connection->state == CONNECTION_GREETING) { /* the connection reads the rest, then the end */
        do {
            status = connection_advance(connection, now);
            check_state(connection, status);
        } while (status == REDLATCH_AGAIN && connection->state == CONNECTION_GREETING);
    }
    if (connection->state == CONNECTION_READY) {
        connection_fail(connection, "the end", now);
    }
    reply_holder_clear(holder);
    free(holder);
    return more;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct input input = {bytes, size};
    uint8_t how = input_byte(&input);
    struct credentials credentials = {.version = 0};
    MUST(credentials_set(&credentials, how & 1 ? "me" : NULL, how & 2 ? password : NULL));
    struct connection_settings settings = {.uri = &uri,
                                           .name = "redlatch:fuzz",
                                           .credentials = &credentials,
                                           .database = how & 4 ? 3 : 0,
                                           .connect_timeout = 2 * SECOND,
                                           .dead_peer_timeout = 10 * SECOND};
    listen_once();
    struct connection connection;
    connection_init(&connection, &settings, how & 8);
    while (live(&connection, &input)) {
    }
    connection_close(&connection);
    connection_free(&connection);
    credentials_free(&credentials);
    return 0;
}
