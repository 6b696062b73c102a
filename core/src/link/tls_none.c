/* TLS in a build without it: a rediss:// URL ends with UNSUPPORTED, so that nothing is sent without encryption.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "redlatch.h"
#include "tls.h"

int tls_context_new(const struct tls_options *options, struct tls_context **context_out, char *why, size_t why_size) {
    (void)options, (void)context_out;
    snprintf(why, why_size, "rediss:// URLs need TLS, which this build lacks (REDLATCH_TLS=OFF); expected redis://");
    return REDLATCH_UNSUPPORTED;
}

/* Without a context there is no session: the functions below have nothing to do. */

void tls_context_free(struct tls_context *context) {
    (void)context;
}

struct tls_session *tls_session_new(struct tls_context *context, const char *host) {
    (void)context, (void)host;
    return NULL;
}

void tls_session_free(struct tls_session *session) {
    (void)session;
}

bool tls_session_receive(struct tls_session *session, const char *bytes, size_t size) {
    (void)session, (void)bytes, (void)size;
    return false;
}

size_t tls_session_read(struct tls_session *session, char *bytes, size_t size) {
    (void)session, (void)bytes, (void)size;
    return 0;
}

bool tls_session_seal(struct tls_session *session, struct output *output, struct output *sealed) {
    (void)session, (void)output, (void)sealed;
    return false;
}

void tls_session_end(struct tls_session *session, struct output *sealed) {
    (void)session, (void)sealed;
}

bool tls_session_is_established(const struct tls_session *session) {
    (void)session;
    return false;
}

int tls_session_status(const struct tls_session *session) {
    (void)session;
    return REDLATCH_UNSUPPORTED;
}

const char *tls_session_failure(const struct tls_session *session) {
    (void)session;
    return "";
}
