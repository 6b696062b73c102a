/* TLS on a connection. The socket carries ciphertext, which the thread that reads or writes the socket moves without a
 * lock. All functions here are called under the client's mutex. A session never touches a socket: ciphertext goes in
 * and out through memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_H
#define TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "output.h"
#include "tls_options.h"

/* What all connections of a client share: CAs, the client's certificate, what is verified, and the session that the
 * next connection resumes. */
struct tls_context;

/* Makes a context. Returns OK; INVALID for a value or a file that cannot be used; UNSUPPORTED if this build has no TLS;
 * SYSTEM if OpenSSL cannot be set up; NO_MEMORY. On failure `why` says which value it was and what was expected. */
int tls_context_new(const struct tls_options *options, struct tls_context **context_out, char *why, size_t why_size);

/* NULL is allowed. In a forked child only the child's copy is freed. */
void tls_context_free(struct tls_context *context);

/* Makes the TLS state of one connection to a server at `host`, and begins the handshake. Returns NULL if there was no
 * memory. The certificate must be for the server name of the options, or else for the host. */
struct tls_session;
struct tls_session *tls_session_new(struct tls_context *context, const char *host);

/* NULL is allowed. Sends nothing. */
void tls_session_free(struct tls_session *session);

/* Takes in ciphertext from the socket, and goes on with the handshake. Returns false if there was no memory. */
bool tls_session_receive(struct tls_session *session, const char *bytes, size_t size);

/* Reads plaintext. Returns the number of bytes, or 0 if nothing is left or the session failed or ended. The caller
 * reads until it returns 0, as no poll of the socket shows what is left. */
size_t tls_session_read(struct tls_session *session, char *bytes, size_t size);

/* Encrypts the pending output, once the handshake is done, and appends all waiting ciphertext to `sealed`. Returns
 * false if there was no memory or the session failed. */
bool tls_session_seal(struct tls_session *session, struct output *output, struct output *sealed);

/* Appends close_notify, which says that nothing will follow. */
void tls_session_end(struct tls_session *session, struct output *sealed);

bool tls_session_is_established(const struct tls_session *session);

/* Returns OK while the session works, else why it failed or ended: AUTHENTICATION if one side refused the other's
 * certificate, PROTOCOL if the peer has no TLS or none that fits, UNREACHABLE if the peer ended the session, NO_MEMORY.
 * tls_session_failure returns the text for it. */
int tls_session_status(const struct tls_session *session);
const char *tls_session_failure(const struct tls_session *session);

#endif
