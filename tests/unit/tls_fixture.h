/* TLS in a test: certificates, and a server of OpenSSL in the same thread as the client's session.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_FIXTURE_H
#define TLS_FIXTURE_H

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "tls.h"

enum { DAY = 86400, PEM_PATH_SIZE = 32 };

/* Of all certificates; made and freed by the test. */
extern EVP_PKEY *tls_key;

/* A self-signed certificate of CN=server, for names such as DNS:here,IP:127.0.0.1 or NULL for none, valid from and to
 * so many seconds from now. */
X509 *certificate_of(const char *names, long from, long to);
X509 *certificate_named(const char *common_name, const char *names, long from, long to);

/* Files in PEM, to be unlinked: a certificate, and a key after it, or NULL. */
void write_pem(X509 *certificate, EVP_PKEY *key, char path[PEM_PATH_SIZE]);

/* Both ends. */
struct ends {
    SSL_CTX *server_ctx;
    SSL *server;
    struct tls_context *context;
    struct tls_session *session;
    struct output output, sealed;
    char path[PEM_PATH_SIZE]; /* of what the client trusts */
    const char *host;
};

/* A server that shows one certificate, and a client of `host` that trusts another one, with further options: `more` is
 * an array by enum tls_option, or NULL. */
struct ends open_ends(X509 *served, X509 *trusted, const char *host, const char *const more[TLS_OPTIONS]);
void connect_ends(struct ends *ends);

/* Moves what the client has written to the server, and back. */
void exchange(struct ends *ends);
void disconnect_ends(struct ends *ends);
void close_ends(struct ends *ends);

#endif
