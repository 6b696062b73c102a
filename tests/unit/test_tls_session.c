/* TLS sessions over memory, with an OpenSSL server in the same thread: what is verified, the texts of failures, and
 * what becomes of the host's error queue.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tls_fixture.h"

#include <string.h>

#include "redlatch.h"
#include "unit.h"

static void bytes_go_both_ways(void) {
    X509 *own = certificate_of("DNS:here,IP:127.0.0.1", -DAY, DAY);
    struct ends ends = open_ends(own, own, "here", NULL);
    connect_ends(&ends);
    CHECK(output_bytes(&ends.output, "PING", 4)); /* before the handshake: it waits */
    exchange(&ends);
    CHECK(tls_session_is_established(ends.session));
    char bytes[100];
    CHECK_EQ_INT(SSL_read(ends.server, bytes, sizeof bytes), 4);
    CHECK_EQ_INT(output_pending(&ends.output), 0);
    CHECK_EQ_INT(SSL_write(ends.server, "PONG", 4), 4);
    int got = BIO_read(SSL_get_wbio(ends.server), bytes, sizeof bytes);
    CHECK(tls_session_receive(ends.session, bytes, (size_t)got));
    CHECK_EQ_INT(tls_session_read(ends.session, bytes, sizeof bytes), 4);
    CHECK_EQ_INT(tls_session_status(ends.session), REDLATCH_OK);
    SSL_shutdown(ends.server);
    got = BIO_read(SSL_get_wbio(ends.server), bytes, sizeof bytes);
    CHECK(tls_session_receive(ends.session, bytes, (size_t)got));
    CHECK_EQ_INT(tls_session_read(ends.session, bytes, sizeof bytes), 0);
    CHECK_EQ_INT(tls_session_status(ends.session), REDLATCH_UNREACHABLE);
    close_ends(&ends);
    X509_free(own);
}

static void sessions_are_resumed(void) {
    X509 *own = certificate_of("DNS:here", -DAY, DAY);
    struct ends ends = open_ends(own, own, "here", NULL);
    for (int i = 0; i < 3; i++) {
        connect_ends(&ends);
        exchange(&ends);
        CHECK_EQ_INT(SSL_session_reused(ends.server), i > 0);
        disconnect_ends(&ends);
    }
    close_ends(&ends);
    X509_free(own);
}

static void check_refused(X509 *served, X509 *trusted, const char *host, const char *expected) {
    struct ends ends = open_ends(served, trusted, host, NULL);
    connect_ends(&ends);
    exchange(&ends);
    CHECK(!tls_session_is_established(ends.session));
    CHECK_EQ_INT(tls_session_status(ends.session), REDLATCH_AUTHENTICATION);
    CHECK(strstr(tls_session_failure(ends.session), "\"CN=server\", issued by \"CN=server\""));
    CHECK(strstr(tls_session_failure(ends.session), expected));
    close_ends(&ends);
}

static void refused_certificates(void) {
    X509 *own = certificate_of("DNS:here,IP:127.0.0.1,IP:::1", -DAY, DAY);
    X509 *other = certificate_of("DNS:other", -2 * DAY, DAY);
    X509 *past = certificate_of("DNS:here", -2 * DAY, -DAY);
    X509 *future = certificate_of("DNS:here", DAY, 2 * DAY);
    check_refused(own, own, "there",
                  "it is for DNS:here, IP:127.0.0.1, IP:0:0:0:0:0:0:0:1: expected one for DNS:there");
    check_refused(own, own, "10.0.0.1", "expected one for IP:10.0.0.1");
    check_refused(past, past, "here", " GMT: expected a valid one");
    check_refused(future, future, "here", " GMT: expected a valid one");
    check_refused(other, own, "other", "expected ");
    X509_free(own);
    X509_free(other);
    X509_free(past);
    X509_free(future);
}

/* Two connections are made before either has a new session. */
static void a_session_is_resumed_twice(void) {
    X509 *own = certificate_of("DNS:here", -DAY, DAY);
    struct ends ends = open_ends(own, own, "here", NULL);
    SSL_CTX_set_num_tickets(ends.server_ctx, 1);
    connect_ends(&ends);
    exchange(&ends);
    disconnect_ends(&ends);
    SSL_CTX_set_num_tickets(ends.server_ctx, 0);
    for (int i = 0; i < 2; i++) {
        connect_ends(&ends);
        exchange(&ends);
        CHECK(SSL_session_reused(ends.server));
        disconnect_ends(&ends);
    }
    close_ends(&ends);
    X509_free(own);
}

/* The server does not speak TLS. The errors of the host stay in their queue. */
static void a_plain_server(void) {
    X509 *own = certificate_of("DNS:here", -DAY, DAY);
    struct ends ends = open_ends(own, own, "here", NULL);
    ERR_raise(ERR_LIB_USER, 42);
    unsigned long before = ERR_peek_error();
    connect_ends(&ends);
    CHECK(tls_session_receive(ends.session, "-ERR unknown command\r\n", 22));
    CHECK_EQ_INT(tls_session_status(ends.session), REDLATCH_PROTOCOL);
    CHECK(strstr(tls_session_failure(ends.session), "does not speak TLS"));
    CHECK(!tls_session_seal(ends.session, &ends.output, &ends.sealed));
    CHECK(ERR_peek_last_error() == before && ERR_get_error() == before && ERR_peek_error() == 0);
    close_ends(&ends);
    X509_free(own);
}

/* A server that ends the handshake by an alert. */
static void alerts(void) {
    X509 *own = certificate_of("DNS:here", -DAY, DAY);
    struct ends ends = open_ends(own, own, "here", NULL);
    SSL_CTX_set_verify(ends.server_ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    connect_ends(&ends);
    exchange(&ends);
    CHECK_EQ_INT(tls_session_status(ends.session), REDLATCH_AUTHENTICATION);
    CHECK(strstr(tls_session_failure(ends.session), "a client without a certificate"));
    disconnect_ends(&ends);
    SSL_CTX_set_max_proto_version(ends.server_ctx, TLS1_1_VERSION);
    connect_ends(&ends);
    exchange(&ends);
    CHECK_EQ_INT(tls_session_status(ends.session), REDLATCH_PROTOCOL);
    CHECK(strstr(tls_session_failure(ends.session), "TLS alert 70"));
    close_ends(&ends);
    X509_free(own);
}

/* The end of a session sends an alert, by which the server knows that nothing was cut off. Before the handshake it
 * sends nothing. */
static void an_end_is_reported(void) {
    X509 *own = certificate_of("DNS:here", -DAY, DAY);
    struct ends ends = open_ends(own, own, "here", NULL);
    connect_ends(&ends);
    output_clear(&ends.sealed);
    tls_session_end(ends.session, &ends.sealed);
    CHECK_EQ_INT(output_pending(&ends.sealed), 0); /* there is no session yet */
    exchange(&ends);
    tls_session_end(ends.session, &ends.sealed);
    CHECK(output_pending(&ends.sealed) > 0);
    BIO_write(SSL_get_rbio(ends.server), ends.sealed.bytes, (int)output_pending(&ends.sealed));
    char byte;
    CHECK_EQ_INT(SSL_get_error(ends.server, SSL_read(ends.server, &byte, 1)), SSL_ERROR_ZERO_RETURN);
    close_ends(&ends);
    X509_free(own);
}

static int alert_of_client;

static void note_alert(const SSL *ssl, int where, int value) {
    (void)ssl;
    alert_of_client = where == SSL_CB_READ_ALERT ? value & 0xff : alert_of_client;
}

/* A refused certificate is reported to the server by an alert. After that nothing is read or sent. */
static void a_refused_certificate_is_reported(void) {
    X509 *own = certificate_of("DNS:here", -DAY, DAY);
    struct ends ends = open_ends(own, own, "there", NULL);
    SSL_CTX_set_info_callback(ends.server_ctx, note_alert);
    connect_ends(&ends);
    CHECK(output_bytes(&ends.output, "PING", 4));
    exchange(&ends);
    CHECK_EQ_INT(output_pending(&ends.output), 4);
    CHECK_EQ_INT(alert_of_client, SSL_AD_BAD_CERTIFICATE);
    char byte;
    tls_session_end(ends.session, &ends.sealed);
    CHECK_EQ_INT(output_pending(&ends.sealed), 0);
    CHECK_EQ_INT(tls_session_read(ends.session, &byte, 1), 0);
    CHECK_EQ_INT(tls_session_status(ends.session), REDLATCH_AUTHENTICATION);
    close_ends(&ends);
    X509_free(own);
}

/* The part of the output that was sent already is not sent again. */
static void the_rest_of_the_output_is_sealed(void) {
    X509 *own = certificate_of("DNS:here", -DAY, DAY);
    struct ends ends = open_ends(own, own, "here", NULL);
    connect_ends(&ends);
    exchange(&ends);
    CHECK(output_bytes(&ends.output, "xxPING", 6));
    ends.output.begin += 2;
    exchange(&ends);
    char bytes[10];
    CHECK_EQ_INT(SSL_read(ends.server, bytes, sizeof bytes), 4);
    CHECK(memcmp(bytes, "PING", 4) == 0);
    close_ends(&ends);
    X509_free(own);
}

/* A session that failed stays failed. */
static void a_failure_stays(void) {
    X509 *own = certificate_of("DNS:here", -DAY, DAY);
    struct ends ends = open_ends(own, own, "here", NULL);
    connect_ends(&ends);
    exchange(&ends);
    char bytes[100];
    CHECK(tls_session_receive(ends.session, "no record of TLS at all", 23));
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_INT(tls_session_read(ends.session, bytes, sizeof bytes), 0);
        CHECK_EQ_INT(tls_session_status(ends.session), REDLATCH_PROTOCOL);
    }
    close_ends(&ends);
    X509_free(own);
}

/* A session is resumed with a server of the same name only, and after a failure not at all. */
static void sessions_are_of_a_name(void) {
    X509 *own = certificate_of("DNS:here,DNS:there", -DAY, DAY);
    struct ends ends = open_ends(own, own, "here", NULL);
    static const struct {
        const char *host;
        bool resumed;
    } rows[] = {{"here", false}, {"here", true}, {"there", false}, {"here", false}, {"nobody", false}, {"here", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ends.host = rows[i].host;
        connect_ends(&ends);
        exchange(&ends);
        CHECK_EQ_INT(SSL_session_reused(ends.server), rows[i].resumed);
        disconnect_ends(&ends);
    }
    close_ends(&ends);
    X509_free(own);
}

/* OpenSSL refuses a name that no server can have. Neither the session nor its error is left. */
static void a_name_that_is_too_long(void) {
    char name[300];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    X509 *own = certificate_of("DNS:here", -DAY, DAY);
    struct ends ends = open_ends(own, own, "here", NULL);
    ERR_clear_error();
    CHECK(tls_session_new(ends.context, name) == NULL);
    CHECK_EQ_INT(ERR_peek_error(), 0);
    close_ends(&ends);
    X509_free(own);
}

/* The error text shows the names in a certificate in printable ASCII only, and cuts them. */
static void strange_names_are_shown(void) {
    char name[65];
    memset(name, 'n', 64);
    name[64] = '\0';
    memcpy(name, "a\"b\xc3\xa9", 5);
    X509 *own = certificate_named(name, NULL, -DAY, DAY);
    struct ends ends = open_ends(own, own, "there", NULL);
    connect_ends(&ends);
    exchange(&ends);
    CHECK_EQ_INT(tls_session_status(ends.session), REDLATCH_AUTHENTICATION);
    const char *failure = tls_session_failure(ends.session);
    CHECK(strstr(failure, "the certificate of \"CN=a\\.b") == failure);
    CHECK(strstr(failure, "it is for CN=a\\.b")); /* it has no other names */
    for (const char *byte = failure; *byte; byte++) {
        CHECK(*byte >= ' ' && *byte <= '~');
    }
    close_ends(&ends);
    X509_free(own);
}

int main(void) {
    tls_key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    RUN(bytes_go_both_ways);
    RUN(sessions_are_resumed);
    RUN(a_session_is_resumed_twice);
    RUN(refused_certificates);
    RUN(a_plain_server);
    RUN(alerts);
    RUN(an_end_is_reported);
    RUN(a_refused_certificate_is_reported);
    RUN(the_rest_of_the_output_is_sealed);
    RUN(a_failure_stays);
    RUN(sessions_are_of_a_name);
    RUN(a_name_that_is_too_long);
    RUN(strange_names_are_shown);
    EVP_PKEY_free(tls_key);
    return unit_done();
}
