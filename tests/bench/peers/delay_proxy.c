/* A network that is far away: forwards TCP connections to servers of this machine, every byte late by the same time.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It listens on a port of its own for each server, prints these as a line of JSON, and ends when its input ends. The
 * delay counts from the moment the bytes were read, each way. When either end closes, so does the other, and what was
 * still under way is dropped.
 */
#define _GNU_SOURCE
#include "arguments.h"
#include "ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { LINKS_MAX = 1000, CHUNK_SIZE = 16384 };

/* Bytes under way, to be written when their time has come. */
typedef struct chunk {
    struct chunk *next;
    int64_t due_ns;
    size_t size;
    char bytes[];
} chunk;

/* One direction of a connection. */
typedef struct way {
    int from;
    int to;
    chunk *first;
    chunk *last;
} way;

typedef struct link_of_two {
    way up;
    way down;
} link_of_two;

typedef struct proxy {
    int64_t delay_ns;
    int servers;
    int server_ports[PORTS_MAX];
    int listeners[PORTS_MAX];
    int links_count;
    link_of_two links[LINKS_MAX];
} proxy;

static struct sockaddr_in loopback(int port) {
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* Listens on any free port of loopback; which one it is. */
static int listen_somewhere(int *listener_out) {
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 100) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        give_up("cannot listen on a free port");
    }
    *listener_out = listener;
    return ntohs(address.sin_port);
}

static void without_delay(int socket) {
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void accept_link(proxy *all, int server) {
    const int near = accept(all->listeners[server], NULL, NULL);
    const int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_in address = loopback(all->server_ports[server]);
    if (near < 0 || far < 0 || connect(far, (const struct sockaddr *)&address, sizeof address) != 0) {
        give_up("cannot connect to port %d", all->server_ports[server]);
    }
    if (all->links_count == LINKS_MAX) {
        give_up("more than %d connections", LINKS_MAX);
    }
    without_delay(near);
    without_delay(far);
    all->links[all->links_count++] = (link_of_two){.up = {.from = near, .to = far}, .down = {.from = far, .to = near}};
}

/* Takes what is there. 0 if this end has closed. */
static int take(way *one, int64_t delay_ns) {
    chunk *taken = malloc(sizeof *taken + CHUNK_SIZE);
    if (taken == NULL) {
        give_up("no memory for what is under way");
    }
    const ssize_t size = recv(one->from, taken->bytes, CHUNK_SIZE, MSG_DONTWAIT);
    if (size <= 0) {
        free(taken);
        return size < 0 && (errno == EAGAIN || errno == EINTR);
    }
    taken->next = NULL;
    taken->size = (size_t)size;
    taken->due_ns = now_ns() + delay_ns;
    if (one->first == NULL) {
        one->first = taken;
    } else {
        one->last->next = taken;
    }
    one->last = taken;
    return 1;
}

static void drop_first(way *one) {
    chunk *gone = one->first;
    one->first = gone->next;
    free(gone);
}

/* Writes what is due; the sockets block, which does not matter with messages as small as these. 0 if that failed. */
static int deliver(way *one) {
    while (one->first != NULL && one->first->due_ns <= now_ns()) {
        size_t written = 0;
        while (written < one->first->size) {
            const ssize_t size = send(one->to, one->first->bytes + written, one->first->size - written, MSG_NOSIGNAL);
            if (size < 0) {
                return 0;
            }
            written += (size_t)size;
        }
        drop_first(one);
    }
    return 1;
}

static void close_link(proxy *all, int number) {
    link_of_two *gone = &all->links[number];
    while (gone->up.first != NULL) {
        drop_first(&gone->up);
    }
    while (gone->down.first != NULL) {
        drop_first(&gone->down);
    }
    close(gone->up.from);
    close(gone->up.to);
    *gone = all->links[--all->links_count];
}

/* Sleeps until something can be read or has become due. */
static void await(const proxy *all, struct pollfd *polled, nfds_t count) {
    int64_t due_ns = INT64_MAX;
    for (int i = 0; i < all->links_count; i++) {
        const chunk *firsts[] = {all->links[i].up.first, all->links[i].down.first};
        for (int side = 0; side < 2; side++) {
            if (firsts[side] != NULL && firsts[side]->due_ns < due_ns) {
                due_ns = firsts[side]->due_ns;
            }
        }
    }
    int64_t left_ns = due_ns - now_ns();
    left_ns = left_ns > 0 ? left_ns : 0;
    const struct timespec timeout = {.tv_sec = (time_t)(left_ns / 1000000000), .tv_nsec = (long)(left_ns % 1000000000)};
    if (ppoll(polled, count, due_ns == INT64_MAX ? NULL : &timeout, NULL) < 0 && errno != EINTR) {
        give_up("cannot wait for %d sockets", (int)count);
    }
}

/* One turn: standard input first, then the listeners, then two sockets for each link. 0 when the input has ended. */
static int turn(proxy *all) {
    static struct pollfd polled[1 + PORTS_MAX + 2 * LINKS_MAX];
    nfds_t count = 0;
    polled[count++] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    for (int i = 0; i < all->servers; i++) {
        polled[count++] = (struct pollfd){.fd = all->listeners[i], .events = POLLIN};
    }
    const nfds_t links_at = count;
    for (int i = 0; i < all->links_count; i++) {
        polled[count++] = (struct pollfd){.fd = all->links[i].up.from, .events = POLLIN};
        polled[count++] = (struct pollfd){.fd = all->links[i].down.from, .events = POLLIN};
    }
    await(all, polled, count);
    /* From the last one, since the last takes the place of one that is closed. */
    for (int i = all->links_count - 1; i >= 0; i--) {
        link_of_two *one = &all->links[i];
        const struct pollfd *of_link = &polled[links_at + 2 * (nfds_t)i];
        if ((of_link[0].revents != 0 && !take(&one->up, all->delay_ns)) ||
            (of_link[1].revents != 0 && !take(&one->down, all->delay_ns)) || !deliver(&one->up) ||
            !deliver(&one->down)) {
            close_link(all, i);
        }
    }
    for (int i = 0; i < all->servers; i++) {
        if (polled[1 + i].revents != 0) {
            accept_link(all, i);
        }
    }
    return polled[0].revents == 0;
}

int main(int argc, char **argv) {
    int delay_us = 1000;
    const char *list = "6379";
    const struct argument table[] = {
        {.name = "--delay-us", .integer = &delay_us},
        {.name = "--servers", .text = &list},
    };
    ARGUMENTS_READ(argc, argv, table);
    prctl(PR_SET_TIMERSLACK, 1); /* the kernel would round up to 50 us */
    static proxy all;
    all.delay_ns = (int64_t)delay_us * 1000;
    all.servers = ports_read("--servers", list, all.server_ports);
    printf("{\"ports\": [");
    for (int i = 0; i < all.servers; i++) {
        printf("%s%d", i == 0 ? "" : ", ", listen_somewhere(&all.listeners[i]));
    }
    printf("]}\n");
    fflush(stdout);
    while (turn(&all)) {
    }
    return 0;
}
