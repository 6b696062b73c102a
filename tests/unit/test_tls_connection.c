/* Connections over TLS, and those with TLS at one end only: what is encrypted when, what is read, how the connections
 * end, and the texts of failures.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "connection.h"

#include <poll.h>
#include <string.h>

#include "fake_server.h"
#include "parsed.h"
#include "system.h"
#include "tls_fixture.h"
#include "unit.h"

#define GREETED "+OK\r\n$66\r\n# Server\r\nrun_id:" FAKE_RUN_ID "\r\nhz:10\r\n\r\n"

static const int64_t START = 1000 * SECOND;

static X509 *own;
static struct fake_server server;
static struct ends ends;
static struct uri uri;
static char host[] = "127.0.0.1";
static struct connection_settings settings;
static struct connection connection;
static struct reply_holder holder;

static void begin(const char *server_name) {
    const char *more[TLS_OPTIONS] = {[TLS_SERVER_NAME] = server_name};
    fake_open_tcp(&server);
    uri = (struct uri){.host = host, .port = server.port};
    ends = open_ends(own, own, "127.0.0.1", more);
    settings = (struct connection_settings){.uri = &uri,
                                            .name = "redlatch:unit",
                                            .connect_timeout = 2 * SECOND,
                                            .dead_peer_timeout = 10 * SECOND,
                                            .tls = ends.context};
    connection_init(&connection, &settings, true);
}

static void end(void) {
    reply_holder_clear(&holder);
    connection_close(&connection);
    connection_free(&connection);
    close_ends(&ends);
    fake_close(&server);
}

/* The server's end of the socket. */
static int peer(void) {
    return server.peers[server.peer_count - 1].fd;
}

/* Begins the connection, which the server accepts. */
static void open_both(void) {
    CHECK(resolve_at_once(&uri, &connection.addresses));
    CHECK_EQ_INT(connection_open(&connection, START), REDLATCH_OK);
    CHECK_EQ_INT(connection_advance(&connection, START), REDLATCH_AGAIN);
    CHECK(fake_accept(&server));
    ends.server = SSL_new(ends.server_ctx);
    SSL_set_bio(ends.server, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    BIO_set_mem_eof_return(SSL_get_rbio(ends.server), -1);
    SSL_set_accept_state(ends.server);
}

/* Opens both ends again, after a failure. */
static void reopen(void) {
    SSL_free(ends.server);
    open_both();
}

/* Sends the bytes that the server's session has written. */
static void send_out(void) {
    char bytes[16384];
    int got;
    while ((got = BIO_read(SSL_get_wbio(ends.server), bytes, sizeof bytes)) > 0) {
        CHECK(send(peer(), bytes, (size_t)got, MSG_NOSIGNAL) == got);
    }
}

/* The server reads what has arrived, after 20 ms at most, and goes on with the handshake. */
static void serve(void) {
    char bytes[16384];
    ssize_t got;
    struct pollfd socket = {peer(), POLLIN, 0};
    poll(&socket, 1, 20);
    while ((got = recv(peer(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
        BIO_write(SSL_get_rbio(ends.server), bytes, (int)got);
    }
    SSL_do_handshake(ends.server);
    send_out();
    ERR_clear_error();
}

static void say(const char *bytes, size_t size) {
    CHECK_EQ_INT(SSL_write(ends.server, bytes, (int)size), size);
    send_out();
}

/* Returns the status of the greeting, at a server that sends `answers` when the handshake is over. */
static int greeted(const char *answers, int64_t now) {
    int status = REDLATCH_AGAIN;
    bool answered = false;
    for (int i = 0; i < 200 && status == REDLATCH_AGAIN; i++) {
        serve();
        if (!answered && SSL_is_init_finished(ends.server)) {
            answered = true;
            say(answers, strlen(answers));
        }
        struct pollfd socket = {connection.fd, connection_events(&connection), 0};
        poll(&socket, 1, 20);
        status = connection_advance(&connection, now);
    }
    return status;
}

static void ready(void) {
    begin(NULL);
    open_both();
    CHECK_EQ_INT(greeted(GREETED, START), REDLATCH_OK);
    CHECK_EQ_INT(connection.state, CONNECTION_READY);
}

/* Reads until there is a reply, or none can come. Returns whether there was one. */
static bool next_reply(int *status_out) {
    static const struct reply_bounds bounds = {.size_max = 1 << 20};
    *status_out = REDLATCH_OK;
    for (int i = 0; i < 200 && *status_out == REDLATCH_OK; i++) {
        if (connection_next_reply(&connection, &bounds, &holder, status_out)) {
            return true;
        }
        char bytes[1000];
        struct pollfd socket = {connection.fd, POLLIN, 0};
        poll(&socket, 1, 10);
        ssize_t got = connection_read(&connection, bytes, sizeof bytes);
        CHECK(got <= 0 || connection_feed(&connection, bytes, (size_t)got) == REDLATCH_OK);
    }
    return false;
}

static void check_reply(const char *expected, size_t size) {
    int status;
    CHECK(next_reply(&status));
    CHECK_EQ_INT(holder.reply.size, size);
    CHECK(holder.reply.size == size && memcmp(holder.reply.text, expected, size) == 0);
}

static void commands_are_sealed_and_flushed(void) {
    ready();
    char bytes[300] = "";
    CHECK(SSL_read(ends.server, bytes, sizeof bytes - 1) > 0);
    CHECK(strstr(bytes, "redlatch:unit") && strstr(bytes, "INFO")); /* the greeting */
    CHECK_EQ_INT(connection_events(&connection), POLLIN);
    CHECK(output_bytes(&connection.output, "PING", 4));
    CHECK_EQ_INT(connection_pending(&connection), 0);
    CHECK_EQ_INT(connection_seal(&connection), REDLATCH_OK);
    CHECK_EQ_INT(output_pending(&connection.output), 0);
    CHECK(connection_pending(&connection) > 4);
    CHECK_EQ_INT(connection_events(&connection), POLLIN | POLLOUT);
    CHECK_EQ_INT(connection_flush(&connection), REDLATCH_OK);
    CHECK_EQ_INT(connection_pending(&connection), 0);
    CHECK(output_bytes(&connection.output, "PONG", 4));
    CHECK_EQ_INT(connection_write(&connection), REDLATCH_OK); /* seals and flushes */
    serve();
    CHECK_EQ_INT(SSL_read(ends.server, bytes, 8), 4);
    CHECK_EQ_INT(SSL_read(ends.server, bytes + 4, 4), 4);
    CHECK(memcmp(bytes, "PINGPONG", 8) == 0);
    end();
}

/* Records and reads may cut a reply anywhere. */
static void replies_are_read_to_their_end(void) {
    static char large[40000];
    ready();
    say("+A\r\n+B\r\n", 8);
    check_reply("A", 1);
    check_reply("B", 1);
    memset(large, 'x', sizeof large);
    char head[20];
    int size = snprintf(head, sizeof head, "$%zu\r\n", sizeof large);
    say(head, (size_t)size);
    say(large, sizeof large);
    say("\r\n+C\r\n", 6);
    check_reply(large, sizeof large);
    check_reply("C", 1);
    end();
}

/* An end that has arrived is reported after the last reply only. */
static void an_end_follows_the_last_reply(void) {
    ready();
    CHECK_STR(connection_why(&connection, "otherwise"), "otherwise");
    say("+A\r\n", 4);
    SSL_shutdown(ends.server);
    send_out();
    struct pollfd socket = {connection.fd, POLLIN, 0};
    poll(&socket, 1, 1000);
    check_reply("A", 1);
    int status;
    CHECK(!next_reply(&status));
    CHECK_EQ_INT(status, REDLATCH_UNREACHABLE);
    CHECK_STR(connection_why(&connection, "otherwise"), "the server closed the connection");
    CHECK_EQ_INT(connection_seal(&connection), REDLATCH_UNREACHABLE);
    CHECK_EQ_INT(connection_write(&connection), REDLATCH_UNREACHABLE);
    end();
}

/* The alert of an orderly close tells the server that nothing was cut off. */
static void closing_ends_the_session(void) {
    ready();
    char bytes[300];
    CHECK(SSL_read(ends.server, bytes, sizeof bytes) > 0);
    connection_close(&connection);
    serve();
    CHECK_EQ_INT(SSL_get_error(ends.server, SSL_read(ends.server, bytes, 1)), SSL_ERROR_ZERO_RETURN);
    CHECK_EQ_INT(connection.state, CONNECTION_CLOSED);
    CHECK(connection.tls == NULL && connection.fd == -1);
    end();
}

static void check_failed(int status, int expected, const char *why) {
    char text[300];
    CHECK_EQ_INT(status, expected);
    CHECK_EQ_INT(connection.state, CONNECTION_CLOSED);
    snprintf(text, sizeof text, "127.0.0.1:%d: %s", server.port, why);
    if (strncmp(connection.detail, text, strlen(text)) != 0) {
        CHECK_STR(connection.detail, text);
    }
}

static int advanced(int64_t now) {
    int status = REDLATCH_AGAIN;
    for (int i = 0; i < 200 && status == REDLATCH_AGAIN; i++) {
        struct pollfd socket = {connection.fd, POLLIN, 0};
        poll(&socket, 1, 10);
        status = connection_advance(&connection, now);
    }
    return status;
}

static void handshakes_that_fail(void) {
    begin(NULL);
    open_both();
    fake_hang_up(&server);
    check_failed(advanced(START), REDLATCH_UNREACHABLE, "the server closed the connection in the TLS handshake");
    reopen();
    serve(); /* the client's last flight may be on its way */
    fake_hang_up(&server);
    check_failed(advanced(START), REDLATCH_UNREACHABLE, "the server closed the connection");
    reopen(); /* a server that sends nothing */
    CHECK_EQ_INT(connection_advance(&connection, START + 2 * SECOND - 1), REDLATCH_AGAIN);
    check_failed(connection_advance(&connection, START + 2 * SECOND), REDLATCH_NO_REPLY,
                 "connected, but the TLS handshake did not end before the connect timeout: expected a TLS port");
    reopen();
    fake_say(&server, "-ERR unknown command\r\n");
    check_failed(advanced(START), REDLATCH_PROTOCOL, "the server does not speak TLS: expected a TLS port");
    reopen();
    CHECK_EQ_INT(greeted("", START + 1), REDLATCH_AGAIN);
    check_failed(connection_advance(&connection, START + 2 * SECOND), REDLATCH_NO_REPLY,
                 "connected, but no reply before the connect timeout");
    end();
}

static int alert_of_client;

static void note_alert(const SSL *ssl, int where, int value) {
    (void)ssl;
    alert_of_client = where == SSL_CB_READ_ALERT ? value & 0xff : alert_of_client;
}

/* The server learns the reason by an alert, and no other address of the host is tried. */
static void a_refused_certificate(void) {
    begin("elsewhere");
    SSL_CTX_set_info_callback(ends.server_ctx, note_alert);
    open_both();
    connection.addresses.count = 3;
    check_failed(greeted(GREETED, START), REDLATCH_AUTHENTICATION, "the certificate of \"CN=server\"");
    CHECK_EQ_INT(connection.addresses.count, 0);
    serve();
    CHECK_EQ_INT(alert_of_client, SSL_AD_BAD_CERTIFICATE);
    end();
}

/* A connection without TLS to a TLS port. */
static void plain_to_a_tls_port(void) {
    begin(NULL);
    settings.tls = NULL;
    open_both();
    CHECK(send(peer(), "\x15\x03\x01\x00\x02\x02\x28", 7, MSG_NOSIGNAL) == 7);
    check_failed(advanced(START), REDLATCH_PROTOCOL, "the server speaks TLS: expected a rediss:// URL");
    reopen();
    fake_say(&server, "?\r\n");
    check_failed(advanced(START), REDLATCH_PROTOCOL, "the peer is not a Redis server");
    reopen();
    fake_hang_up(&server);
    check_failed(advanced(START), REDLATCH_UNREACHABLE,
                 "the server closed the connection before any reply: a TLS port needs a rediss:// URL");
    reopen();
    fake_say(&server, "+OK\r\n");
    CHECK_EQ_INT(connection_advance(&connection, START), REDLATCH_AGAIN);
    fake_hang_up(&server);
    check_failed(advanced(START), REDLATCH_UNREACHABLE, "the server closed the connection");
    CHECK(!strstr(connection.detail, "rediss"));
    end();
}

int main(void) {
    tls_key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    own = certificate_of("IP:127.0.0.1", -DAY, DAY);
    RUN(commands_are_sealed_and_flushed);
    RUN(replies_are_read_to_their_end);
    RUN(an_end_follows_the_last_reply);
    RUN(closing_ends_the_session);
    RUN(handshakes_that_fail);
    RUN(a_refused_certificate);
    RUN(plain_to_a_tls_port);
    X509_free(own);
    EVP_PKEY_free(tls_key);
    return unit_done();
}
