/* Lines, and the sockets at their clients' ends.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "connection.h"
#include "names.h"
#include "redis_text.h"
#include "schedule.h"
#include "socket.h"
#include "wrapped.h"
#include "wrapped_system.h"

enum { LINES_MAX = 4096, SERVERS_MAX = 6, ADDRESSES = 10 };

static struct {
    struct line *lines[LINES_MAX];
    size_t count;
    line_receiver *receive;
    line_ender *end;
    line_sender *send;
    int leads_to[ADDRESSES]; /* by address: 1 plus the server's number; 0: the server of the same number */
    bool balances[ADDRESSES];
    int64_t refused_until[SERVERS_MAX];
    int64_t slow_until[SERVERS_MAX];
    int64_t reset_until[SERVERS_MAX];
} net;

/* Bytes on their way. */
struct packet {
    struct line *line;
    size_t size;
    char bytes[];
};

void lines_begin(line_receiver *receive, line_ender *end, line_sender *send) {
    for (size_t i = 0; i < net.count; i++) {
        free(net.lines[i]->in);
        free(net.lines[i]);
    }
    memset(&net, 0, sizeof net);
    net.receive = receive;
    net.end = end;
    net.send = send;
}

void lines_lead(int address, int server, bool balances) {
    net.leads_to[address] = server + 1;
    net.balances[address] = balances;
}

void lines_refuse(int server, int64_t until, bool slow) {
    net.refused_until[server] = slow ? 0 : until;
    net.slow_until[server] = slow ? until : 0;
}

void lines_reset(int server, int64_t until) {
    net.reset_until[server] = until;
}

static struct packet *pack(struct line *line, const char *bytes, size_t size) {
    wrapped_memory_spare(true);
    struct packet *packet = allocate(1, sizeof *packet + size);
    wrapped_memory_spare(false);
    packet->line = line;
    packet->size = size;
    memcpy(packet->bytes, bytes, size);
    return packet;
}

static void come_to_server(void *context, uint64_t number) {
    (void)number;
    struct packet *packet = context;
    if (!packet->line->hung_up) {
        net.receive(packet->line, packet->bytes, packet->size);
    }
    free(packet);
}

static void come_to_client(void *context, uint64_t number) {
    (void)number;
    struct packet *packet = context;
    struct line *line = packet->line;
    if (!line->ended && !line->abandoned) {
        line->in = reallocate(line->in, line->in_size + packet->size, 1);
        memcpy(line->in + line->in_size, packet->bytes, packet->size);
        line->in_size += packet->size;
    }
    free(packet);
}

static void end_comes_to_client(void *context, uint64_t number) {
    (void)number;
    ((struct line *)context)->ended = true;
}

static void end_comes_to_server(void *context, uint64_t number) {
    (void)number;
    struct line *line = context;
    if (!line->hung_up) {
        line->hung_up = true;
        net.end(line);
    }
}

static int64_t later(int64_t one, int64_t other) {
    return one > other ? one : other;
}

void line_reply(struct line *line, const char *bytes, size_t size) {
    size_t first = size > 1 && schedule_chance(60) ? 1 + schedule_draw((uint32_t)size - 1) : size;
    line->replied_until = later(line->replied_until, schedule_now() + line->delay);
    schedule_at(line->replied_until, come_to_client, pack(line, bytes, first), 0);
    if (first < size) {
        line->replied_until += 30;
        schedule_at(line->replied_until, come_to_client, pack(line, bytes + first, size - first), 0);
    }
}

void line_cut(struct line *line, bool cut) {
    line->hung_up = true;
    net.end(line);
    int64_t at = cut ? schedule_now() : later(line->replied_until, schedule_now() + line->delay);
    schedule_at(at, end_comes_to_client, line, 0);
}

void line_hang_up(struct line *line) {
    if (line && !line->abandoned) {
        line->abandoned = true;
        schedule_at(later(line->sent_until, schedule_now() + line->delay), end_comes_to_server, line, 0);
    }
}

short line_events(const struct descriptor *descriptor, short events) {
    const struct line *line = descriptor->line;
    if (descriptor->failure) {
        return (short)((events & POLLOUT) | POLLERR);
    }
    if (line->connected_at > schedule_now()) {
        return 0;
    }
    int ready = line->full_until <= schedule_now() ? POLLOUT : 0;
    ready |= line->in_size > 0 || line->ended ? POLLIN : 0;
    ready |= line->ended ? POLLRDHUP : 0;
    return (short)(events & ready);
}

static void become_ready(void *context, uint64_t number) {
    (void)context; /* the clock stops at the event; nothing else is to be done */
    (void)number;
}

/* Returns the server at an address, or -1. Unix sockets named s0, s1, ... and the addresses of names.h lead to
 * servers. */
static int server_at(const struct address *address) {
    const struct sockaddr_un *path = (const struct sockaddr_un *)&address->storage;
    int server = path->sun_family == AF_UNIX ? path->sun_path[strlen(path->sun_path) - 1] - '0'
                                             : names_server_at(address);
    if (server >= 0 && server < ADDRESSES && net.leads_to[server] > 0) {
        return net.balances[server] ? (int)schedule_draw(2) : net.leads_to[server] - 1;
    }
    return server < SERVERS_MAX ? server : -1;
}

int __wrap_socket_connecting(const struct address *address, int64_t dead_peer_timeout) {
    (void)dead_peer_timeout;
    int server = server_at(address);
    if (server < 0) {
        trace("connects to an address that refuses");
        errno = ECONNREFUSED;
        return -1;
    }
    if (wrapped_system_fails("socket_connecting")) {
        errno = EMFILE;
        return -1;
    }
    int fd = descriptor_new(DESCRIPTOR_SOCKET);
    trace("connects %d to server %d", fd, server);
    if (net.count == LINES_MAX || fd < 0) {
        abort();
    }
    wrapped_memory_spare(true);
    struct line *line = allocate(1, sizeof *line);
    wrapped_memory_spare(false);
    memset(line, 0, sizeof *line);
    net.lines[net.count++] = line;
    line->server = server;
    line->delay = 20 + schedule_draw(200);
    line->connected_at = schedule_now() + (schedule_now() < net.slow_until[server] ? 500000 : 2 * line->delay);
    schedule_at(line->connected_at, become_ready, NULL, 0);
    descriptor_of(fd)->line = line;
    descriptor_of(fd)->failure = schedule_now() < net.refused_until[server] ? ECONNREFUSED : 0;
    return fd;
}

int __wrap_socket_outcome(int fd) {
    const struct descriptor *descriptor = descriptor_of(fd);
    bool going_on = !descriptor->failure && descriptor->line->connected_at > schedule_now();
    return going_on ? EINPROGRESS : descriptor->failure;
}

void __wrap_socket_let_sleep(int fd, int64_t most) {
    descriptor_of(fd)->sleeps_most = most;
}

void __wrap_connection_fail(struct connection *connection, const char *why, int64_t now) {
    trace("gives %d up: %s", connection->fd, why);
    __real_connection_fail(connection, why, now);
}

bool __wrap_output_reserve(struct output *output, size_t size) {
    return !wrapped_system_fails("output_reserve") && __real_output_reserve(output, size);
}

void __wrap_socket_abort(int fd) {
    trace("aborts %d", fd);
    __wrap_close(fd);
}

int __wrap_shutdown(int fd, int how) {
    (void)how;
    if (descriptor_of(fd)) {
        line_hang_up(descriptor_of(fd)->line);
        descriptor_of(fd)->line->ended = true; /* wakes the thread that sleeps on it */
    }
    return 0;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags) {
    (void)flags;
    schedule_spend(2);
    struct line *line = descriptor_of(fd)->line;
    line->ended = line->ended || schedule_now() < net.reset_until[line->server];
    if (line->ended) {
        errno = EPIPE;
        return -1;
    }
    if (line->full_until > schedule_now() || schedule_chance(5)) {
        line->full_until = later(line->full_until, schedule_now() + 300);
        schedule_at(line->full_until, become_ready, NULL, 0);
        trace("could not send to %d", fd);
        errno = EAGAIN;
        return -1;
    }
    size_t sent = size > 1 && schedule_chance(20) ? 1 + schedule_draw((uint32_t)size - 1) : size;
    trace("sends to %d%s", fd, sent < size ? ", in part" : "");
    net.send(line, bytes, sent);
    line->sent_until = later(line->sent_until, schedule_now() + line->delay);
    schedule_at(line->sent_until, come_to_server, pack(line, bytes, sent), 0);
    return (ssize_t)sent;
}

static bool can_read(const void *context) {
    const struct line *line = context;
    return line->in_size > 0 || line->ended;
}

ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags) {
    schedule_spend(1);
    struct descriptor *descriptor = descriptor_of(fd);
    struct line *line = descriptor->line;
    if (!can_read(line) && !(flags & MSG_DONTWAIT) && descriptor->sleeps_most > 0) {
        trace("sleeps on %d", fd);
        actor_wait(can_read, line, schedule_now() + descriptor->sleeps_most);
    }
    if (!can_read(line)) {
        errno = EAGAIN;
        return -1;
    }
    size_t count = line->in_size < size ? line->in_size : size;
    trace("reads %d%s", fd, count == 0 ? ": it has ended" : "");
    if (count > 0) {
        memcpy(bytes, line->in, count);
        memmove(line->in, line->in + count, line->in_size - count);
        line->in_size -= count;
    }
    return (ssize_t)count;
}
