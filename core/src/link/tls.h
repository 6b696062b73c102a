/* TLS on a connection. The socket carries ciphertext, which whoever reads or writes the socket moves without a lock;
 * everything here is called under the client's mutex. A session never touches a socket: ciphertext goes in and out by
 * memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_H
#define TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "output.h"
#include "tls_options.h"

/* What all connections of a client have in common: CAs, the client's certificate, what is verified, and the session
 * that the next connection resumes. */
struct tls_context;

/* Makes a context. OK; INVALID for a value or a file that cannot be used, UNSUPPORTED without TLS in this build,
 * NO_MEMORY; `why` says which value and what was expected. */
int tls_context_new(const struct tls_options *options, struct tls_context **context_out, char *why, size_t why_size);

/* NULL is allowed. In a forked child it frees the copy alone. */
void tls_context_free(struct tls_context *context);

/* The TLS state of one connection to a server at `host`, with the handshake begun; NULL without memory. The certificate
 * must be for the name that the options give, else for the host. */
struct tls_session;
struct tls_session *tls_session_new(struct tls_context *context, const char *host);

/* NULL is allowed. Sends nothing. */
void tls_session_free(struct tls_session *session);

/* Takes ciphertext from the socket, and goes on with the handshake. False without memory. */
bool tls_session_receive(struct tls_session *session, const char *bytes, size_t size);

/* Reads plaintext: the number of bytes, 0 when nothing is left, or the session failed or ended. To be read until it
 * returns 0, as no socket shows what is left. */
size_t tls_session_read(struct tls_session *session, char *bytes, size_t size);

/* Encrypts the pending output, once the handshake is done, and appends all ciphertext that waits to `sealed`. False
 * without memory, or if the session failed. */
bool tls_session_seal(struct tls_session *session, struct output *output, struct output *sealed);

/* Appends the message that says that nothing will follow. */
void tls_session_end(struct tls_session *session, struct output *sealed);

bool tls_session_is_established(const struct tls_session *session);

/* OK while it works; else why it failed or ended: AUTHENTICATION for a certificate that one of both refused, PROTOCOL
 * for a peer without TLS or with another TLS, UNREACHABLE when the peer ended it, NO_MEMORY. */
int tls_session_status(const struct tls_session *session);
const char *tls_session_failure(const struct tls_session *session);

#endif
