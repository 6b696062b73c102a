/* Sockets: made close-on-exec and non-blocking, with the options that notice a dead peer, and torn down so that
 * nothing already written arrives late.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SOCKET_H
#define SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "resolver.h"

/* A socket that is connecting to an address; -1 with errno set. */
int socket_connecting(const struct address *address, int64_t dead_peer_timeout);

/* 0 when connected, EINPROGRESS while not, else why it failed. */
int socket_outcome(int fd);

/* Whether a connection to which no reply is due has ended. */
bool socket_has_ended(int fd);

/* The flag of send by which a broken connection raises no signal. Elsewhere the socket has an option for that. */
#ifdef MSG_NOSIGNAL
#define SOCKET_NO_SIGNAL MSG_NOSIGNAL
#else
#define SOCKET_NO_SIGNAL 0
#endif

/* From now on a plain recv sleeps until there is something, so many microseconds at most; without memory for that, and
 * elsewhere than on Linux, the socket stays as it is. */
void socket_let_sleep(int fd, int64_t most);

/* Resets a TCP connection (dropping unsent bytes) or shuts a unix one down, then closes. Works on the connection
 * itself, also when a forked child has a copy of the descriptor. */
void socket_abort(int fd);

/* Ends a connection that another thread may be waiting for, which is woken and closes the descriptor. */
void socket_wake(int fd);

#endif
