/* What all TLS connections of a client share, made when the client is opened.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "redlatch.h"
#include "tls_parts.h"

int tls_refuse_file(const struct tls_making *making, const char *what, const char *path, const char *expected) {
    bool readable = access(path, R_OK) == 0;
    snprintf(making->why, making->why_size, "%s%s \"%.150s\": %s%sexpected %s", tls_options_prefix(making->options),
             what, path, readable ? "" : strerror(errno), readable ? "" : ": ", expected);
    return REDLATCH_INVALID;
}

static int no_memory(const struct tls_making *making) {
    snprintf(making->why, making->why_size, "out of memory");
    return REDLATCH_NO_MEMORY;
}

/* Writes why OpenSSL itself cannot be set up: its configuration file may name something that is not there. */
static int no_openssl(const struct tls_making *making) {
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    if (!reason || ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_MALLOC_FAILURE) {
        return no_memory(making);
    }
    snprintf(making->why, making->why_size, "OpenSSL cannot be set up: %s", reason);
    return REDLATCH_SYSTEM;
}

/* Accepts a certificate whose issuer has no list of revoked certificates; if there is one, it counts. The lists are in
 * the file or the folder of CAs. */
static int on_verified(int accepted, X509_STORE_CTX *chain) {
    if (!accepted && X509_STORE_CTX_get_error(chain) == X509_V_ERR_UNABLE_TO_GET_CRL) {
        X509_STORE_CTX_set_error(chain, X509_V_OK);
        return 1;
    }
    if (!accepted) {
        SSL *ssl = X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx());
        struct tls_session *session = SSL_get_app_data(ssl);
        tls_explain_certificate(session, chain);
    }
    return accepted;
}

/* The server asks for the client's certificate. */
static int on_certificate_request(SSL *ssl, void *unused) {
    (void)unused;
    struct tls_session *session = SSL_get_app_data(ssl);
    session->certificate_requested = true;
    return 1;
}

/* The server sent a session that can be resumed. Returns 1 if the reference to it is kept. */
static int on_session(SSL *ssl, SSL_SESSION *resumable) {
    struct tls_session *session = SSL_get_app_data(ssl);
    struct tls_context *context = session->context;
    char *name = strdup(session->server_name);
    if (!name || SSL_get_SSL_CTX(ssl) != context->ctx) { /* the other: the files were renewed meanwhile */
        free(name);
        return 0;
    }
    SSL_SESSION_free(context->resumed);
    free(context->resumed_name);
    context->resumed = resumable;
    context->resumed_name = name;
    return 1;
}

/* A key with a passphrase is refused: nobody is there to type it. */
static int no_passphrase(char *buffer, int size, int writing, void *data) {
    (void)buffer, (void)size, (void)writing, (void)data;
    return -1;
}

static int load_certificate(const struct tls_making *making) {
    SSL_CTX *ctx = making->context->ctx;
    const char *certificate = making->options->texts[TLS_CERT_FILE];
    const char *key = making->options->texts[TLS_KEY_FILE];
    if (!certificate) {
        return REDLATCH_OK;
    }
    SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
    if (SSL_CTX_use_certificate_chain_file(ctx, certificate) != 1) {
        return tls_refuse_file(making, "tls_cert_file", certificate, "the client's certificate chain in PEM");
    }
    if (SSL_CTX_use_PrivateKey_file(ctx, key ? key : certificate, SSL_FILETYPE_PEM) != 1) {
        return tls_refuse_file(making, key ? "tls_key_file" : "tls_cert_file", key ? key : certificate,
                               "the private key of the certificate in PEM, without a passphrase");
    }
    if (SSL_CTX_check_private_key(ctx) != 1) { /* OpenSSL also took a key of another type than the certificate's */
        return tls_refuse_file(making, key ? "tls_key_file" : "tls_cert_file", key ? key : certificate,
                               "the private key of the certificate");
    }
    making->context->has_certificate = true;
    return REDLATCH_OK;
}

int tls_context_fill(const struct tls_making *making) {
    struct tls_context *context = making->context;
    context->ctx = SSL_CTX_new(TLS_client_method());
    if (!context->ctx) {
        return no_openssl(making);
    }
    SSL_CTX *ctx = context->ctx;
    SSL_CTX_set_min_proto_version(ctx, context->values.min_version == TLS_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ctx, on_session);
    SSL_CTX_set_cert_cb(ctx, on_certificate_request, NULL);
    int status = REDLATCH_OK;
    if (context->values.verify != TLS_VERIFY_NONE) {
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, on_verified);
        X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx), X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
        status = tls_load_cas(making);
    }
    return status == REDLATCH_OK ? load_certificate(making) : status;
}

int tls_context_new(const struct tls_options *options, struct tls_context **context_out, char *why, size_t why_size) {
    struct tls_context *context = calloc(1, sizeof *context);
    struct tls_making making = {context, options, why, why_size};
    if (!context) {
        return no_memory(&making);
    }
    int status = tls_options_check(options, &context->values, why, why_size);
    if (status == REDLATCH_OK) {
        /* The background thread may use OpenSSL while the process exits: its memory must last. */
        OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
        struct tls_queue queue;
        tls_queue_put_aside(&queue);
        status = tls_files_watch(context, options) ? tls_context_fill(&making) : no_memory(&making);
        tls_queue_put_back(&queue);
    }
    if (status == REDLATCH_OK) {
        *context_out = context;
    } else {
        tls_context_free(context);
    }
    return status;
}

void tls_context_free(struct tls_context *context) {
    if (context) {
        SSL_SESSION_free(context->resumed);
        SSL_CTX_free(context->ctx);
        tls_options_free(&context->options);
        free(context->resumed_name);
        free(context);
    }
}
