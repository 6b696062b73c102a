/* Sockets: made close-on-exec and non-blocking, with the options that notice a dead peer, and torn down so that
 * nothing already written arrives late.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SOCKET_H
#define SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "resolver.h"

/* Returns a socket that is connecting to an address, or -1 with errno set. */
int socket_connecting(const struct address *address, int64_t dead_peer_timeout);

/* Returns 0 when connected, EINPROGRESS before that, or the errno of the failure. */
int socket_outcome(int fd);

/* Returns whether a connection without outstanding replies has ended. */
bool socket_has_ended(int fd);

/* The flag of send by which a broken connection raises no signal. Elsewhere the socket has an option for that. */
#ifdef MSG_NOSIGNAL
#define SOCKET_NO_SIGNAL MSG_NOSIGNAL
#else
#define SOCKET_NO_SIGNAL 0
#endif

/* Lets a recv without MSG_DONTWAIT sleep until bytes arrive, for `most` microseconds at most. If that fails, and in the
 * portable build, the socket stays as it is. */
void socket_let_sleep(int fd, int64_t most);

/* Resets a TCP connection (dropping unsent bytes) or shuts a unix one down, then closes. Works on the connection
 * itself, also when a forked child has a copy of the descriptor. */
void socket_abort(int fd);

/* Ends a connection for which another thread may be waiting. That thread wakes up and closes the descriptor. */
void socket_wake(int fd);

#endif
