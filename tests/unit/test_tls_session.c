/* TLS sessions over memory, against a server of OpenSSL in the same thread: what is verified, what a failure is called,
 * and what becomes of the host's error queue. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <unistd.h>

#include "redlatch.h"
#include "tls.h"
#include "unit.h"

enum { DAY = 86400 };

static EVP_PKEY *key;

/* A self-signed certificate of a server, valid from and to so many seconds from now. */
static X509 *certificate_of(const char *names, long from, long to) {
    X509 *certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), from);
    X509_gmtime_adj(X509_getm_notAfter(certificate), to);
    X509_set_pubkey(certificate, key);
    X509_NAME *name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"server", -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    CHECK(X509_sign(certificate, key, EVP_sha256()) > 0);
    return certificate;
}

static void write_certificate(X509 *certificate, char path[32]) {
    memcpy(path, "/tmp/redlatch-tls-XXXXXX", sizeof "/tmp/redlatch-tls-XXXXXX");
    FILE *file = fdopen(mkstemp(path), "w");
    CHECK(file && PEM_write_X509(file, certificate) == 1);
    fclose(file);
}

/* Both ends. */
struct ends {
    SSL_CTX *server_ctx;
    SSL *server;
    struct tls_context *context;
    struct tls_session *session;
    struct output output, sealed;
    char path[32];
    const char *host;
};

static struct ends open_ends(X509 *served, X509 *trusted, const char *host) {
    struct ends ends = {.host = host};
    ends.server_ctx = SSL_CTX_new(TLS_server_method());
    CHECK(SSL_CTX_use_certificate(ends.server_ctx, served) == 1 && SSL_CTX_use_PrivateKey(ends.server_ctx, key) == 1);
    write_certificate(trusted, ends.path);
    struct tls_options options = {{NULL}};
    const char *over[TLS_OPTIONS] = {[TLS_CA_FILE] = ends.path};
    CHECK(tls_options_override(&options, over));
    char why[400] = "";
    CHECK_EQ_INT(tls_context_new(&options, &ends.context, why, sizeof why), REDLATCH_OK);
    CHECK_STR(why, "");
    tls_options_free(&options);
    return ends;
}

static void connect_ends(struct ends *ends) {
    ends->server = SSL_new(ends->server_ctx);
    SSL_set_bio(ends->server, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ends->server);
    ends->session = tls_session_new(ends->context, ends->host);
    CHECK(ends->session != NULL);
}

/* Moves what the client has written to the server, and back. */
static void exchange(struct ends *ends) {
    for (int turn = 0; turn < 6; turn++) {
        tls_session_seal(ends->session, &ends->output, &ends->sealed);
        BIO_write(SSL_get_rbio(ends->server), ends->sealed.bytes + ends->sealed.begin,
                  (int)output_pending(&ends->sealed));
        output_clear(&ends->sealed);
        SSL_do_handshake(ends->server);
        char bytes[16384];
        int got = BIO_read(SSL_get_wbio(ends->server), bytes, sizeof bytes);
        if (got > 0) {
            CHECK(tls_session_receive(ends->session, bytes, (size_t)got));
            char plain[16];
            CHECK_EQ_INT(tls_session_read(ends->session, plain, sizeof plain), 0);
        }
    }
    ERR_clear_error();
}

static void disconnect(struct ends *ends) {
    tls_session_free(ends->session);
    SSL_free(ends->server);
    output_free(&ends->output);
    output_free(&ends->sealed);
}

static void close_ends(struct ends *ends) {
    disconnect(ends);
    tls_context_free(ends->context);
    SSL_CTX_free(ends->server_ctx);
    unlink(ends->path);
}

static void bytes_go_both_ways(void) {
    X509 *own = certificate_of("DNS:here,IP:127.0.0.1", -DAY, DAY);
    struct ends ends = open_ends(own, own, "here");
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
    struct ends ends = open_ends(own, own, "here");
    for (int i = 0; i < 3; i++) {
        connect_ends(&ends);
        exchange(&ends);
        CHECK_EQ_INT(SSL_session_reused(ends.server), i > 0);
        disconnect(&ends);
    }
    ends.server = NULL;
    ends.session = NULL;
    close_ends(&ends);
    X509_free(own);
}

static void check_refused(X509 *served, X509 *trusted, const char *host, const char *expected) {
    struct ends ends = open_ends(served, trusted, host);
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
    check_refused(past, past, "here", "it expired on ");
    check_refused(future, future, "here", "it is not valid before ");
    check_refused(other, own, "other", "expected ");
    X509_free(own);
    X509_free(other);
    X509_free(past);
    X509_free(future);
}

/* Two connections are made before either has a new session. */
static void a_session_is_resumed_twice(void) {
    X509 *own = certificate_of("DNS:here", -DAY, DAY);
    struct ends ends = open_ends(own, own, "here");
    SSL_CTX_set_num_tickets(ends.server_ctx, 1);
    connect_ends(&ends);
    exchange(&ends);
    disconnect(&ends);
    SSL_CTX_set_num_tickets(ends.server_ctx, 0);
    for (int i = 0; i < 2; i++) {
        connect_ends(&ends);
        exchange(&ends);
        CHECK(SSL_session_reused(ends.server));
        disconnect(&ends);
    }
    ends.server = NULL;
    ends.session = NULL;
    close_ends(&ends);
    X509_free(own);
}

/* A server without TLS; and the errors of the host stay as they are. */
static void a_plain_server(void) {
    X509 *own = certificate_of("DNS:here", -DAY, DAY);
    struct ends ends = open_ends(own, own, "here");
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
    struct ends ends = open_ends(own, own, "here");
    SSL_CTX_set_verify(ends.server_ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    connect_ends(&ends);
    exchange(&ends);
    CHECK_EQ_INT(tls_session_status(ends.session), REDLATCH_AUTHENTICATION);
    CHECK(strstr(tls_session_failure(ends.session), "a client without a certificate"));
    disconnect(&ends);
    memset(&ends.output, 0, sizeof ends.output);
    SSL_CTX_set_max_proto_version(ends.server_ctx, TLS1_1_VERSION);
    connect_ends(&ends);
    exchange(&ends);
    CHECK_EQ_INT(tls_session_status(ends.session), REDLATCH_PROTOCOL);
    CHECK(strstr(tls_session_failure(ends.session), "TLS alert 70"));
    close_ends(&ends);
    X509_free(own);
}

int main(void) {
    key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    RUN(bytes_go_both_ways);
    RUN(sessions_are_resumed);
    RUN(a_session_is_resumed_twice);
    RUN(refused_certificates);
    RUN(a_plain_server);
    RUN(alerts);
    EVP_PKEY_free(key);
    return unit_done();
}
