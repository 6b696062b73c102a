/* What all TLS connections of a client have in common, made when the client is opened.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "redlatch.h"
#include "tls_parts.h"

/* Where distributions keep the CAs that they trust. */
static const char *const bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt", /* Debian, Ubuntu, Arch, Alpine */
    "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, RHEL */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem", /* SUSE */
    "/etc/ssl/cert.pem",
};

struct making {
    struct tls_context *context;
    const struct tls_options *options;
    char *why;
    size_t why_size;
};

/* A file that cannot be used. */
static int refuse_file(const struct making *making, const char *what, const char *path, const char *expected) {
    bool readable = access(path, R_OK) == 0;
    snprintf(making->why, making->why_size, "%s \"%.150s\": %s%sexpected %s", what, path,
             readable ? "" : strerror(errno), readable ? "" : ": ", expected);
    return REDLATCH_INVALID;
}

static int no_memory(const struct making *making) {
    snprintf(making->why, making->why_size, "out of memory");
    return REDLATCH_NO_MEMORY;
}

/* A list of revoked certificates counts where there is one of the issuer; it is in the file or folder of CAs. */
static int on_verified(int accepted, X509_STORE_CTX *chain) {
    if (!accepted && X509_STORE_CTX_get_error(chain) == X509_V_ERR_UNABLE_TO_GET_CRL) {
        X509_STORE_CTX_set_error(chain, X509_V_OK);
        return 1;
    }
    if (!accepted) {
        SSL *ssl = X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx());
        struct tls_session *session = SSL_get_app_data(ssl);
        tls_explain_certificate(session->context, chain, session->failure, sizeof session->failure);
    }
    return accepted;
}

/* The server gave a session to resume. The reference is kept. */
static int on_session(SSL *ssl, SSL_SESSION *resumable) {
    struct tls_session *session = SSL_get_app_data(ssl);
    SSL_SESSION_free(session->context->resumed);
    session->context->resumed = resumable;
    return 1;
}

static int load_given_cas(const struct making *making, const char *file, const char *folder, const char *file_name,
                          const char *folder_name) {
    struct tls_context *context = making->context;
    if (file && SSL_CTX_load_verify_file(context->ctx, file) != 1) {
        return refuse_file(making, file_name, file, "CA certificates in PEM");
    }
    if (folder && (access(folder, R_OK | X_OK) != 0 || SSL_CTX_load_verify_dir(context->ctx, folder) != 1)) {
        return refuse_file(making, folder_name, folder, "a folder of CA certificates");
    }
    snprintf(context->ca_shown, sizeof context->ca_shown, "%s \"%.80s\"", file ? file_name : folder_name,
             file ? file : folder);
    return REDLATCH_OK;
}

static const char *from_environment(const char *name) {
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

static int load_cas(const struct making *making) {
    const char *file = making->options->texts[TLS_CA_FILE];
    const char *folder = making->options->texts[TLS_CA_DIR];
    if (file || folder) {
        return load_given_cas(making, file, folder, "tls_ca_file", "tls_ca_dir");
    }
    file = from_environment("SSL_CERT_FILE");
    folder = from_environment("SSL_CERT_DIR");
    if (file || folder) {
        return load_given_cas(making, file, folder, "$SSL_CERT_FILE", "$SSL_CERT_DIR");
    }
    for (size_t i = 0; i < sizeof bundles / sizeof bundles[0]; i++) {
        if (access(bundles[i], R_OK) == 0 && SSL_CTX_load_verify_file(making->context->ctx, bundles[i]) == 1) {
            snprintf(making->context->ca_shown, sizeof making->context->ca_shown,
                     "the system's, in %s; tls_ca_file gives others", bundles[i]);
            return REDLATCH_OK;
        }
    }
    SSL_CTX_set_default_verify_paths(making->context->ctx);
    snprintf(making->context->ca_shown, sizeof making->context->ca_shown, "tls_ca_file, which was not given");
    return REDLATCH_OK;
}

/* A key with a passphrase is refused: nobody is there to type it. */
static int no_passphrase(char *buffer, int size, int writing, void *data) {
    (void)buffer, (void)size, (void)writing, (void)data;
    return -1;
}

static int load_certificate(const struct making *making) {
    SSL_CTX *ctx = making->context->ctx;
    const char *certificate = making->options->texts[TLS_CERT_FILE];
    const char *key = making->options->texts[TLS_KEY_FILE];
    if (!certificate) {
        return REDLATCH_OK;
    }
    SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
    if (SSL_CTX_use_certificate_chain_file(ctx, certificate) != 1) {
        return refuse_file(making, "tls_cert_file", certificate, "the client's certificate chain in PEM");
    }
    if (SSL_CTX_use_PrivateKey_file(ctx, key ? key : certificate, SSL_FILETYPE_PEM) != 1) {
        return refuse_file(making, key ? "tls_key_file" : "tls_cert_file", key ? key : certificate,
                           "the private key of the certificate in PEM, without a passphrase");
    }
    making->context->has_certificate = true;
    return REDLATCH_OK;
}

static int set_up(const struct making *making, const char *host) {
    struct tls_context *context = making->context;
    const char *name = making->options->texts[TLS_SERVER_NAME];
    unsigned char address[sizeof(struct in6_addr)];
    context->server_name = strdup(name ? name : host);
    context->ctx = SSL_CTX_new(TLS_client_method());
    if (!context->server_name || !context->ctx) {
        return no_memory(making);
    }
    context->is_address = inet_pton(AF_INET, context->server_name, address) == 1 ||
                          inet_pton(AF_INET6, context->server_name, address) == 1;
    SSL_CTX *ctx = context->ctx;
    SSL_CTX_set_min_proto_version(ctx, context->values.min_version == TLS_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ctx, on_session);
    int status = REDLATCH_OK;
    if (context->values.verify != TLS_VERIFY_NONE) {
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, on_verified);
        X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx), X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
        status = load_cas(making);
    }
    return status == REDLATCH_OK ? load_certificate(making) : status;
}

int tls_context_new(const struct tls_options *options, const char *host, struct tls_context **context_out, char *why,
                    size_t why_size) {
    struct tls_context *context = calloc(1, sizeof *context);
    struct making making = {context, options, why, why_size};
    if (!context) {
        return no_memory(&making);
    }
    int status = tls_options_check(options, &context->values, why, why_size);
    if (status == REDLATCH_OK) {
        /* The background thread may use OpenSSL while the process exits: its memory must last. */
        OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
        struct tls_queue queue;
        tls_queue_put_aside(&queue);
        status = set_up(&making, host);
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
        free(context->server_name);
        free(context);
    }
}
