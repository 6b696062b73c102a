/* How the reader of a connection treats late replies, a peer that owes a reply and stays silent, and a reply to AUTH.
 * How often it tries to connect. The clock is the test's own.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "pipeline_io.h"

#include <poll.h>

#include "fake_server.h"
#include "handles.h"
#include "unit.h"

#define GREETED "+OK\r\n:7\r\n$66\r\n# Server\r\nrun_id:" FAKE_RUN_ID "\r\nhz:10\r\n\r\n"

static const int64_t START = 1000 * SECOND;
static const int64_t DEAD = 3 * SECOND;

static struct fake_server server;
static redlatch_client *handle;
static struct pipeline_io *io;

/* Opens a client with one connection. */
static void begin(void) {
    redlatch_client_options options;
    fake_open_tcp(&server);
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.lazy = 1;
    options.dead_peer_timeout_ms = DEAD / MILLISECOND;
    CHECK_EQ_INT(redlatch_client_open(server.url, &options, &handle), REDLATCH_OK);
    io = &handle->client->node.ios[PIPELINE_CALLERS];
    CHECK(resolve_at_once(&handle->client->uri, &io->connection.addresses));
    CHECK_EQ_INT(io_connect(io, START), REDLATCH_AGAIN);
    CHECK(fake_accept(&server));
    fake_say(&server, GREETED);
    for (int i = 0; i < 200 && io->connection.state != CONNECTION_READY; i++) {
        struct pollfd socket = {io->connection.fd, POLLIN, 0};
        poll(&socket, 1, 20);
        io_connect(io, START);
    }
    CHECK_EQ_INT(io->connection.state, CONNECTION_READY);
}

static void end(void) {
    redlatch_client_free(handle);
    fake_close(&server);
}

/* The reader itself slept too long or was stopped: a reply that arrived meanwhile counts. */
static void a_reply_that_is_read_late_is_a_sign_of_life(void) {
    begin();
    io->pipeline->awaited = 1;
    memcpy(io->staging, ":1\r\n", 4);
    io_take(io, 4, START + 2 * DEAD);
    CHECK_EQ_INT(io->connection.state, CONNECTION_READY);
    CHECK_EQ_INT(io->pipeline->awaited, 0);
    CHECK_EQ_INT(io->received_at, START + 2 * DEAD);
    end();
}

static void a_peer_that_owes_a_reply_is_left(void) {
    begin();
    io_take(io, 0, START + DEAD); /* the peer owes no reply */
    CHECK_EQ_INT(io->connection.state, CONNECTION_READY);
    io->pipeline->awaited = 1;
    memcpy(io->staging, ":1", 2);
    io_take(io, 2, START + DEAD - 1); /* not a complete reply */
    CHECK_EQ_INT(io->connection.state, CONNECTION_READY);
    CHECK_EQ_INT(io_next_time(io), START + DEAD);
    io_take(io, 0, START + DEAD);
    CHECK_EQ_INT(io->connection.state, CONNECTION_CLOSED);
    CHECK(strstr(io->connection.detail, ": no reply for too long"));
    end();
}

static bool has_password(const struct output *output, size_t size) {
    return memmem(output->bytes, size, "S3CR3T", 6);
}

/* The reader may take the reply to AUTH before the thread that sent AUTH has the mutex again. */
static void a_password_is_wiped_after_its_reply(void) {
    begin();
    CHECK(credentials_set(&handle->client->credentials, NULL, "S3CR3T"));
    authentication_say(io);
    const struct output *output = &io->connection.output;
    size_t size = output->end;
    authentication_sent(io); /* the kernel has taken nothing yet */
    CHECK(has_password(output, size) && output_pending(output) == size);
    CHECK_EQ_INT(connection_flush(&io->connection), REDLATCH_OK);
    memcpy(io->staging, "+OK\r\n", 5);
    io_receive(io, 5, START);
    CHECK(!io->authentication.pending && has_password(output, size));
    authentication_sent(io);
    CHECK(!has_password(output, size));
    end();
}

/* Returns how often a connection is tried before `until` if each attempt fails. */
static int attempts_until(int64_t *now, int64_t until) {
    int attempts = 0;
    for (; *now < until; *now = io_retry_at(io)) {
        connection_fail(&io->connection, "refused", *now);
        attempts++;
    }
    return attempts;
}

/* Another client may wait for what is to be released, but not beyond its lease. */
static void a_release_that_nobody_waits_for_is_urgent_for_a_lease(void) {
    begin();
    const int64_t lease = handle->client->engine.settings.watchdog_lease_ms * MILLISECOND;
    struct command release = {.kind = COMMAND_RELEASE};
    list_append(&io->pipeline->unsent, &release.link);
    int64_t now = START;
    CHECK(attempts_until(&now, START + lease) >= lease / (80 * MILLISECOND));
    CHECK(attempts_until(&now, START + 2 * lease) <= lease / (500 * MILLISECOND));
    list_remove(&release.link);
    end();
}

int main(void) {
    RUN(a_reply_that_is_read_late_is_a_sign_of_life);
    RUN(a_peer_that_owes_a_reply_is_left);
    RUN(a_password_is_wiped_after_its_reply);
    RUN(a_release_that_nobody_waits_for_is_urgent_for_a_lease);
    return unit_done();
}
