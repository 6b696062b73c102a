/* TLS of one connection, over two memory BIOs.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redlatch.h"
#include "tls_parts.h"

/* Ends the session. */
static void fail(struct tls_session *session, int status, const char *why) {
    session->status = status;
    snprintf(session->failure, sizeof session->failure, "%s", why);
}

/* Judges a step that made no progress: it waits for the peer, the peer has ended the session, or it has failed. */
static void judge(struct tls_session *session, int result) {
    SSL *ssl = session->ssl;
    int error = SSL_get_error(ssl, result);
    if (error == SSL_ERROR_ZERO_RETURN) {
        fail(session, REDLATCH_UNREACHABLE, "the server closed the connection");
    } else if (error != SSL_ERROR_WANT_READ) {
        session->status = tls_explain_failure(session);
        SSL_SESSION_free(session->context->resumed); /* whatever it was, the next handshake is a full one */
        session->context->resumed = NULL;
    }
}

static void on_event(const SSL *ssl, int where, int value) {
    if (where & SSL_CB_ALERT && where & SSL_CB_READ) {
        struct tls_session *session = SSL_get_app_data(ssl);
        session->alert = value & 0xff;
    }
}

/* Has a copy of the last connection's session resumed. With TLS 1.3 OpenSSL resumes a session only once, and two
 * connections may be made before the server has sent a new one. */
static bool resume(struct tls_session *session) {
    if (!session->context->resumed || strcmp(session->context->resumed_name, session->server_name) != 0) {
        return true;
    }
    SSL_SESSION *copy = SSL_SESSION_dup(session->context->resumed);
    bool set = copy && SSL_set_session(session->ssl, copy) == 1;
    SSL_SESSION_free(copy);
    return set;
}

static bool set_up(struct tls_session *session) {
    const struct tls_context *context = session->context;
    SSL *ssl = session->ssl;
    BIO *in = BIO_new(BIO_s_mem());
    BIO *out = BIO_new(BIO_s_mem());
    if (!in || !out) {
        BIO_free(in);
        BIO_free(out);
        return false;
    }
    BIO_set_mem_eof_return(in, -1); /* empty means: try again later */
    SSL_set_bio(ssl, in, out);
    SSL_set_app_data(ssl, session);
    SSL_set_info_callback(ssl, on_event);
    SSL_set_connect_state(ssl);
    unsigned char address[sizeof(struct in6_addr)];
    const char *name = session->server_name;
    bool is_address = inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
    bool done = is_address || SSL_set_tlsext_host_name(ssl, name) == 1;
    if (done && context->values.verify == TLS_VERIFY_FULL) {
        X509_VERIFY_PARAM *expected = SSL_get0_param(ssl);
        X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        done = is_address ? X509_VERIFY_PARAM_set1_ip_asc(expected, name) == 1
                          : X509_VERIFY_PARAM_set1_host(expected, name, 0) == 1;
    }
    return done && resume(session);
}

/* Goes on with the handshake as far as it gets. */
static void handshake(struct tls_session *session) {
    int result = session->status == REDLATCH_OK ? SSL_do_handshake(session->ssl) : 1;
    if (result != 1) {
        judge(session, result);
    }
}

/* Returns a copy of the name without a dot at its end and without the zone of an address: no certificate has these. */
static char *name_of(const char *host) {
    size_t size = strcspn(host, "%");
    size -= size > 1 && host[size - 1] == '.';
    return strndup(host, size);
}

struct tls_session *tls_session_new(struct tls_context *context, const char *host) {
    struct tls_session *session = calloc(1, sizeof *session);
    if (!session) {
        return NULL;
    }
    session->context = context;
    session->alert = NO_ALERT;
    struct tls_queue queue;
    tls_queue_put_aside(&queue);
    tls_files_renew(context);
    const char *given = context->options.texts[TLS_SERVER_NAME];
    session->server_name = name_of(given ? given : host);
    session->ssl = session->server_name ? SSL_new(context->ctx) : NULL;
    bool made = session->ssl && set_up(session);
    if (made) {
        handshake(session);
    }
    tls_queue_put_back(&queue);
    if (!made) {
        tls_session_free(session);
        return NULL;
    }
    return session;
}

void tls_session_free(struct tls_session *session) {
    if (session) {
        struct tls_queue queue;
        tls_queue_put_aside(&queue);
        if (session->ssl) { /* else OpenSSL would not resume the session, as it was not shut down */
            SSL_set_shutdown(session->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        }
        SSL_free(session->ssl);
        tls_queue_put_back(&queue);
        free(session->server_name);
        free(session);
    }
}

bool tls_session_receive(struct tls_session *session, const char *bytes, size_t size) {
    struct tls_queue queue;
    tls_queue_put_aside(&queue);
    bool taken = BIO_write(SSL_get_rbio(session->ssl), bytes, (int)size) == (int)size;
    if (taken && !SSL_is_init_finished(session->ssl)) {
        handshake(session);
    }
    tls_queue_put_back(&queue);
    return taken;
}

size_t tls_session_read(struct tls_session *session, char *bytes, size_t size) {
    size_t got = 0;
    if (session->status != REDLATCH_OK || !SSL_is_init_finished(session->ssl)) {
        return 0;
    }
    struct tls_queue queue;
    tls_queue_put_aside(&queue);
    int result = SSL_read_ex(session->ssl, bytes, size, &got);
    if (result != 1) {
        got = 0;
        judge(session, result);
    }
    tls_queue_put_back(&queue);
    return got;
}

/* Moves all ciphertext that waits to be sent. */
static bool move_out(struct tls_session *session, struct output *sealed) {
    char *bytes;
    BIO *out = SSL_get_wbio(session->ssl);
    long size = BIO_get_mem_data(out, &bytes);
    if (size > 0 && !output_bytes(sealed, bytes, (size_t)size)) {
        return false;
    }
    return size <= 0 || BIO_reset(out) == 1;
}

bool tls_session_seal(struct tls_session *session, struct output *output, struct output *sealed) {
    struct tls_queue queue;
    tls_queue_put_aside(&queue);
    size_t pending = SSL_is_init_finished(session->ssl) ? output_pending(output) : 0;
    bool done = session->status == REDLATCH_OK;
    if (done && pending > 0) {
        size_t written; /* always all: partial writes are not enabled */
        done = SSL_write_ex(session->ssl, output->bytes + output->begin, pending, &written) == 1;
        if (done) {
            output_clear(output);
        } else {
            fail(session, REDLATCH_NO_MEMORY, "out of memory"); /* the only failure that is left */
        }
    }
    done = move_out(session, sealed) && done; /* after a failure, too: there may be an alert */
    tls_queue_put_back(&queue);
    return done;
}

void tls_session_end(struct tls_session *session, struct output *sealed) {
    if (session->status == REDLATCH_OK && SSL_is_init_finished(session->ssl)) {
        struct tls_queue queue;
        tls_queue_put_aside(&queue);
        SSL_shutdown(session->ssl);
        move_out(session, sealed);
        tls_queue_put_back(&queue);
    }
}

bool tls_session_is_established(const struct tls_session *session) {
    return SSL_is_init_finished(session->ssl) == 1;
}

int tls_session_status(const struct tls_session *session) {
    return session->status;
}

const char *tls_session_failure(const struct tls_session *session) {
    return session->failure;
}
