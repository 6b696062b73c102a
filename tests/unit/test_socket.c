/* Sockets: the options that a connection has, how connecting ends, and how a connection is reset.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "records.h"
#include "unit.h"

/* A listener on a free port of this machine. */
static int listener_on(struct address *address_out) {
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof place;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && bind(fd, (const struct sockaddr *)&place, size) == 0 && listen(fd, 4) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&place, &size) == 0);
    memcpy(&address_out->storage, &place, size);
    address_out->size = size;
    return fd;
}

static void wait_for(int fd, short events) {
    struct pollfd poll_fd = {fd, events, 0};
    CHECK_EQ_INT(poll(&poll_fd, 1, 10000), 1);
}

static int option_of(int fd, int level, int option) {
    int value = -1;
    socklen_t size = sizeof value;
    CHECK(getsockopt(fd, level, option, &value, &size) == 0);
    return value;
}

/* The kernel notices within the dead peer timeout that a peer is gone. */
static void tcp_is_set_to_watch_its_peer(void) {
    static const struct {
        int64_t dead_peer_timeout;
        int seconds;
        int milliseconds;
    } rows[] = {{30 * SECOND, 10, 30000},
                {7 * SECOND, 2, 7000},
                {2 * SECOND, 1, 2000},
                {SECOND / 2, 1, 500},
                {3650 * 86400 * SECOND, 32767, INT_MAX}}; /* the longest, of which the kernel takes less */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct address address = {.size = 0};
        int listener = listener_on(&address);
        int fd = socket_connecting(&address, rows[i].dead_peer_timeout);
        CHECK(fd >= 0);
        CHECK_EQ_INT(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
        CHECK_EQ_INT(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
        CHECK_EQ_INT(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), rows[i].seconds);
        CHECK_EQ_INT(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), rows[i].seconds);
        CHECK_EQ_INT(option_of(fd, IPPROTO_TCP, TCP_KEEPCNT), 2);
        CHECK_EQ_INT(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), rows[i].milliseconds);
        close(fd);
        close(listener);
    }
}

static void a_connection_neither_blocks_nor_is_inherited(void) {
    struct address address = {.size = 0};
    int listener = listener_on(&address);
    int fd = socket_connecting(&address, SECOND);
    CHECK(fd >= 0);
    wait_for(fd, POLLOUT);
    CHECK_EQ_INT(socket_outcome(fd), 0);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    char byte;
    CHECK(recv(fd, &byte, 1, 0) == -1 && errno == EAGAIN);
    socket_let_sleep(fd, 20 * MILLISECOND);
#ifdef REDLATCH_PORTABLE
    CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK); /* it stays non-blocking */
#else
    CHECK(!(fcntl(fd, F_GETFL) & O_NONBLOCK));
#endif
    CHECK(recv(fd, &byte, 1, 0) == -1 && errno == EAGAIN); /* after a while */
    close(fd);
    close(listener);
}

static void connecting_to_nobody_says_why(void) {
    struct address address = {.size = 0};
    close(listener_on(&address));
    int fd = socket_connecting(&address, SECOND);
    if (fd >= 0) { /* some kernels fail at once */
        wait_for(fd, POLLOUT);
        CHECK_EQ_INT(socket_outcome(fd), ECONNREFUSED);
        close(fd);
    } else {
        CHECK_EQ_INT(errno, ECONNREFUSED);
    }
    struct sockaddr_un nowhere = {.sun_family = AF_UNIX, .sun_path = "/nonexistent/redis.sock"};
    memcpy(&address.storage, &nowhere, sizeof nowhere);
    address.size = sizeof nowhere;
    CHECK_EQ_INT(socket_connecting(&address, SECOND), -1);
    CHECK_EQ_INT(errno, ENOENT);
}

static volatile sig_atomic_t signals;

static void count_signal(int number) {
    (void)number;
    signals++;
}

/* A signal that interrupts the check of a socket does not make it connected. A full socket stands for one that is still
 * connecting: no poll shows POLLOUT. */
static void a_signal_ends_no_connecting(void) {
    int pair[2];
    char bytes[4096] = "";
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    while (send(pair[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    }
    struct sigaction counts = {.sa_handler = count_signal};
    struct sigaction before;
    struct itimerval often = {.it_interval = {.tv_usec = 50}, .it_value = {.tv_usec = 50}};
    struct itimerval never = {.it_interval = {.tv_usec = 0}};
    CHECK(sigaction(SIGALRM, &counts, &before) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
    int outcome = EINPROGRESS;
    for (signals = 0; signals < 1000 && outcome == EINPROGRESS;) {
        outcome = socket_outcome(pair[0]);
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0 && sigaction(SIGALRM, &before, NULL) == 0);
    CHECK_EQ_INT(outcome, EINPROGRESS);
    close(pair[0]);
    close(pair[1]);
}

/* The peer sees the end although another descriptor, as a forked child has one, still refers to the connection. */
static void an_abort_is_one_of_the_connection(void) {
    struct address address = {.size = 0};
    int listener = listener_on(&address);
    int fd = socket_connecting(&address, SECOND);
    int peer = accept(listener, NULL, NULL);
    int copy = dup(fd);
    CHECK(peer >= 0 && copy >= 0);
    socket_abort(fd);
    wait_for(peer, POLLIN);
    char byte;
    CHECK(recv(peer, &byte, 1, 0) == -1 && errno == ECONNRESET);
    close(copy);
    close(peer);
    close(listener);

    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    copy = dup(pair[0]);
    socket_abort(pair[0]);
    wait_for(pair[1], POLLIN);
    CHECK_EQ_INT(recv(pair[1], &byte, 1, 0), 0);
    close(copy);
    close(pair[1]);
}

int main(void) {
    RUN(tcp_is_set_to_watch_its_peer);
    RUN(a_connection_neither_blocks_nor_is_inherited);
    RUN(connecting_to_nobody_says_why);
    RUN(a_signal_ends_no_connecting);
    RUN(an_abort_is_one_of_the_connection);
    return unit_done();
}
