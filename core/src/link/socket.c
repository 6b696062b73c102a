/* TCP and unix sockets. system.h has the table of what differs between systems.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Linux refuses a longer keep-alive, in seconds. */
enum { KEEP_ALIVE_MAX = 32767 };

static int at_most(int64_t value, int most) {
    return value < most ? (int)value : most;
}

static void set_option(int fd, int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof value); /* a failure does no harm */
}

#ifndef TCP_KEEPIDLE
#define TCP_KEEPIDLE TCP_KEEPALIVE /* macOS' name */
#endif

/* Sets how long sent bytes may stay unacknowledged. */
static void set_user_timeout(int fd, int64_t timeout) {
#if defined(TCP_USER_TIMEOUT)
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, at_most(timeout / 1000, INT_MAX));
#elif defined(TCP_RXT_CONNDROPTIME)
    set_option(fd, IPPROTO_TCP, TCP_RXT_CONNDROPTIME, at_most((timeout + 999999) / 1000000, INT_MAX));
#else
    (void)fd; /* keep-alive alone */
    (void)timeout;
#endif
}

static void set_tcp_options(int fd, int64_t dead_peer_timeout) {
    int seconds = at_most(dead_peer_timeout / 3000000, KEEP_ALIVE_MAX);
    seconds = seconds < 1 ? 1 : seconds;
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 2);
    set_user_timeout(fd, dead_peer_timeout);
}

/* Returns a socket that is close-on-exec and non-blocking, and raises no SIGPIPE if it has an option for that. Returns
 * -1 with errno set on failure. */
static int new_socket(int family) {
#ifdef REDLATCH_PORTABLE
    int fd = socket(family, SOCK_STREAM, 0);
    if (fd >= 0) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        fcntl(fd, F_SETFL, O_NONBLOCK);
#ifdef SO_NOSIGPIPE
        set_option(fd, SOL_SOCKET, SO_NOSIGPIPE, 1);
#endif
    }
    return fd;
#else
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
#endif
}

int socket_connecting(const struct address *address, int64_t dead_peer_timeout) {
    int family = address->storage.ss_family;
    int fd = new_socket(family);
    if (fd < 0) {
        return -1;
    }
    if (family != AF_UNIX) {
        set_tcp_options(fd, dead_peer_timeout);
    }
    int result = connect(fd, (const struct sockaddr *)&address->storage, address->size);
    if (result != 0 && errno != EINPROGRESS && errno != EINTR) {
        int failure = errno;
        close(fd);
        errno = failure;
        return -1;
    }
    return fd;
}

int socket_outcome(int fd) {
    struct pollfd poll_fd = {fd, POLLOUT, 0};
    if (poll(&poll_fd, 1, 0) <= 0) { /* a poll that a signal interrupts has found nothing */
        return EINPROGRESS;
    }
    int failure = 0;
    socklen_t size = sizeof failure;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) == 0 ? failure : errno;
}

bool socket_has_ended(int fd) {
#ifdef REDLATCH_PORTABLE
    char byte;
    ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
#else
    struct pollfd poll_fd = {fd, POLLRDHUP, 0};
    return poll(&poll_fd, 1, 0) > 0;
#endif
}

void socket_let_sleep(int fd, int64_t most) {
#ifdef REDLATCH_PORTABLE
    (void)fd; /* some systems ignore MSG_DONTWAIT in send on a socket that may block */
    (void)most;
#else
    struct timeval time = {.tv_sec = most / 1000000, .tv_usec = most % 1000000};
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    }
#endif
}

void socket_abort(int fd) {
#ifdef REDLATCH_PORTABLE
    struct linger at_once = {.l_onoff = 1, .l_linger = 0}; /* whoever closes the last copy resets the connection */
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
#endif
    struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    if (connect(fd, &nowhere, sizeof nowhere) != 0) {
        shutdown(fd, SHUT_RDWR);
    }
    close(fd);
}

void socket_wake(int fd) {
    struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    if (shutdown(fd, SHUT_RDWR) != 0) { /* it is still connecting */
        (void)connect(fd, &nowhere, sizeof nowhere);
    }
}
