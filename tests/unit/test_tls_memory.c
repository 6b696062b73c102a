/* TLS without memory: the calls of OpenSSL that allocate fail, one after the other. Nothing leaks, every text is
 * terminated, and the status says why.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tls_fixture.h"

#include <string.h>

#include "redlatch.h"
#include "unit.h"

/* The linker redirects the core's calls to the __wrap functions. */
BIO *__real_BIO_new(const BIO_METHOD *method);
BIO *__wrap_BIO_new(const BIO_METHOD *method);
SSL *__real_SSL_new(SSL_CTX *ctx);
SSL *__wrap_SSL_new(SSL_CTX *ctx);
SSL_CTX *__real_SSL_CTX_new(const SSL_METHOD *method);
SSL_CTX *__wrap_SSL_CTX_new(const SSL_METHOD *method);
SSL_SESSION *__real_SSL_SESSION_dup(const SSL_SESSION *session);
SSL_SESSION *__wrap_SSL_SESSION_dup(const SSL_SESSION *session);

int __real_SSL_write_ex(SSL *ssl, const void *bytes, size_t size, size_t *written_out);
int __wrap_SSL_write_ex(SSL *ssl, const void *bytes, size_t size, size_t *written_out);

enum { ALL = 1000 };

static int left = ALL; /* the call with this number fails, and all after it */
static int reason;     /* of the error that SSL_CTX_new leaves; 0: none */

static bool succeeds(void) {
    left -= left > 0;
    return left > 0;
}

BIO *__wrap_BIO_new(const BIO_METHOD *method) {
    return succeeds() ? __real_BIO_new(method) : NULL;
}

SSL *__wrap_SSL_new(SSL_CTX *ctx) {
    return succeeds() ? __real_SSL_new(ctx) : NULL;
}

SSL_CTX *__wrap_SSL_CTX_new(const SSL_METHOD *method) {
    if (succeeds()) {
        return __real_SSL_CTX_new(method);
    }
    if (reason) {
        ERR_raise(ERR_LIB_SSL, reason);
    }
    return NULL;
}

SSL_SESSION *__wrap_SSL_SESSION_dup(const SSL_SESSION *session) {
    return succeeds() ? __real_SSL_SESSION_dup(session) : NULL;
}

int __wrap_SSL_write_ex(SSL *ssl, const void *bytes, size_t size, size_t *written_out) {
    return succeeds() ? __real_SSL_write_ex(ssl, bytes, size, written_out) : 0;
}

static void no_record(void) {
    X509 *own = certificate_of("DNS:here", -DAY, DAY);
    struct ends ends = open_ends(own, own, "here", NULL);
    connect_ends(&ends);
    exchange(&ends);
    CHECK(output_bytes(&ends.output, "PING", 4));
    left = 1;
    CHECK(!tls_session_seal(ends.session, &ends.output, &ends.sealed));
    left = ALL;
    CHECK_EQ_INT(tls_session_status(ends.session), REDLATCH_NO_MEMORY);
    CHECK_STR(tls_session_failure(ends.session), "out of memory");
    CHECK_EQ_INT(output_pending(&ends.output), 4);
    close_ends(&ends);
    X509_free(own);
}

static void no_context(void) {
    static const struct {
        int reason;
        int status;
        const char *why;
    } rows[] = {{0, REDLATCH_NO_MEMORY, "out of memory"},
                {ERR_R_MALLOC_FAILURE, REDLATCH_NO_MEMORY, "out of memory"},
                {SSL_R_BAD_LENGTH, REDLATCH_SYSTEM, "OpenSSL cannot be set up: bad length"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tls_options options = {.prefix = NULL};
        struct tls_context *context = NULL;
        char why[200] = "";
        left = 0;
        reason = rows[i].reason;
        CHECK_EQ_INT(tls_context_new(&options, &context, why, sizeof why), rows[i].status);
        CHECK_STR(why, rows[i].why);
        CHECK(context == NULL);
        CHECK_EQ_INT(ERR_peek_error(), 0);
    }
    left = ALL;
}

/* There is a session to resume, so that more calls can fail. */
static void no_session(void) {
    X509 *own = certificate_of("DNS:here", -DAY, DAY);
    struct ends ends = open_ends(own, own, "here", NULL);
    connect_ends(&ends);
    exchange(&ends);
    disconnect_ends(&ends);
    int failures = 0;
    struct tls_session *session = NULL;
    while (!session && failures < 10) {
        left = 1 + failures++;
        session = tls_session_new(ends.context, "here");
        left = ALL;
    }
    CHECK_EQ_INT(failures, 5); /* SSL_new, BIO_new twice, SSL_SESSION_dup; the fifth attempt succeeds */
    tls_session_free(session);
    close_ends(&ends);
    X509_free(own);
}

/* The text of a refusal lacks the parts of the certificate that find no memory. */
static void no_words(void) {
    static const struct {
        long to; /* when the certificate runs out */
        const char *host;
        const char *failure[3]; /* by the number of parts that can be shown */
    } rows[] = {
        {DAY,
         "there",
         {"the certificate of \"\", issued by \"\", was refused: it is for : expected one for DNS:there",
          "the certificate of \"\", issued by \"\", was refused: it is for DNS:here: expected one for DNS:there",
          "the certificate of \"CN=server\", issued by \"\", was refused: it is for DNS:here: "
          "expected one for DNS:there"}},
        {-DAY,
         "here",
         {"the certificate of \"\", issued by \"\", was refused: it expired on : expected a valid one", NULL, NULL}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        X509 *own = certificate_of("DNS:here", -2 * DAY, rows[i].to);
        for (int parts = 0; parts < 3; parts++) {
            struct ends ends = open_ends(own, own, rows[i].host, NULL);
            connect_ends(&ends);
            left = 1 + parts;
            exchange(&ends);
            left = ALL;
            CHECK_EQ_INT(tls_session_status(ends.session), REDLATCH_AUTHENTICATION);
            if (rows[i].failure[parts]) {
                CHECK_STR(tls_session_failure(ends.session), rows[i].failure[parts]);
            }
            close_ends(&ends);
        }
        X509_free(own);
    }
}

int main(void) {
    tls_key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    RUN(no_session);
    RUN(no_record);
    RUN(no_words);
    RUN(no_context); /* last: OpenSSL has loaded its error texts by now */
    EVP_PKEY_free(tls_key);
    return unit_done();
}
