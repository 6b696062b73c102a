/* The fake server: listens, parses commands and replies.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fake_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { TIMEOUT_MS = 2000 };

static void must(bool good, const char *what) {
    if (!good) {
        fprintf(stderr, "the test's server has no %s\n", what);
        abort();
    }
}

static void start_listening(struct fake_server *server, int family, const void *address, socklen_t size) {
    server->listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(server->listener >= 0, "socket");
    must(bind(server->listener, address, size) == 0 && listen(server->listener, 64) == 0, "place to listen");
    server->stop = eventfd(0, EFD_CLOEXEC);
    must(server->stop >= 0, "eventfd");
}

void fake_open_unix(struct fake_server *server) {
    memset(server, 0, sizeof *server);
    snprintf(server->folder, sizeof server->folder, "/tmp/redlatch-unit-XXXXXX");
    must(mkdtemp(server->folder) != NULL, "folder");
    snprintf(server->path, sizeof server->path, "%s/s", server->folder);
    snprintf(server->url, sizeof server->url, "unix://%s", server->path);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memcpy(name.sun_path, server->path, sizeof server->path);
    start_listening(server, AF_UNIX, &name, sizeof name);
}

void fake_open_tcp(struct fake_server *server) {
    memset(server, 0, sizeof *server);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    start_listening(server, AF_INET, &name, sizeof name);
    socklen_t size = sizeof name;
    must(getsockname(server->listener, (struct sockaddr *)&name, &size) == 0, "name");
    server->port = ntohs(name.sin_port);
    snprintf(server->url, sizeof server->url, "redis://127.0.0.1:%d", server->port);
}

static void drop_peer(struct fake_peer *peer) {
    if (peer->bytes) {
        close(peer->fd);
        free(peer->bytes);
        peer->bytes = NULL;
    }
    peer->fd = -1;
}

void fake_close(struct fake_server *server) {
    if (server->serving) {
        must(eventfd_write(server->stop, 1) == 0, "way to stop");
        pthread_join(server->thread, NULL);
    }
    for (int i = 0; i < server->peer_count; i++) {
        drop_peer(&server->peers[i]);
    }
    close(server->listener);
    close(server->stop);
    if (server->folder[0]) {
        unlink(server->path);
        rmdir(server->folder);
    }
}

static bool readable(int fd) {
    struct pollfd one = {fd, POLLIN, 0};
    return poll(&one, 1, TIMEOUT_MS) == 1;
}

static void take_peer(struct fake_server *server) {
    must(server->peer_count < FAKE_PEERS, "room for another connection");
    struct fake_peer *peer = &server->peers[server->peer_count++];
    peer->fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
    peer->size = 0;
    peer->bytes = malloc(FAKE_BUFFER);
    must(peer->fd >= 0 && peer->bytes, "connection");
}

bool fake_accept(struct fake_server *server) {
    if (!readable(server->listener)) {
        return false;
    }
    take_peer(server);
    return true;
}

/* Returns the number between a marker and the end of the line, and moves *at behind the line. Returns -1 if the line is
 * incomplete. */
static long take_number(const struct fake_peer *peer, size_t *at, char marker) {
    const char *end = memchr(peer->bytes + *at, '\n', peer->size - *at);
    if (!end) {
        return -1;
    }
    must(peer->bytes[*at] == marker, "command in the Redis protocol");
    long number = strtol(peer->bytes + *at + 1, NULL, 10);
    *at = (size_t)(end - peer->bytes) + 1;
    return number;
}

/* Takes the first complete command off a peer's buffer. Returns false if there is none. */
static bool take_command(struct fake_peer *peer, char *command, size_t size) {
    size_t at = 0;
    size_t written = 0;
    long count = peer->size ? take_number(peer, &at, '*') : -1;
    for (long i = 0; i < count; i++) {
        long length = at < peer->size ? take_number(peer, &at, '$') : -1;
        if (length < 0 || at + (size_t)length + 2 > peer->size) {
            return false;
        }
        for (long k = 0; k <= length && written + 2 < size; k++) {
            char byte = k == length ? ' ' : peer->bytes[at + (size_t)k];
            command[written++] = byte ? byte : '?'; /* shows a NUL as a question mark */
        }
        at += (size_t)length + 2;
    }
    if (count < 0) {
        return false;
    }
    command[written ? written - 1 : 0] = '\0';
    memmove(peer->bytes, peer->bytes + at, peer->size - at);
    peer->size -= at;
    return true;
}

static bool read_more(struct fake_peer *peer) {
    ssize_t got = read(peer->fd, peer->bytes + peer->size, FAKE_BUFFER - peer->size - 1);
    if (got <= 0) {
        return false;
    }
    peer->size += (size_t)got;
    peer->bytes[peer->size] = '\0';
    return true;
}

bool fake_hear(struct fake_server *server, char *command, size_t size) {
    struct fake_peer *peer = &server->peers[server->peer_count - 1];
    while (!take_command(peer, command, size)) {
        if (!readable(peer->fd) || !read_more(peer)) {
            return false;
        }
    }
    return true;
}

static void say(struct fake_peer *peer, const char *bytes) {
    send(peer->fd, bytes, strlen(bytes), MSG_NOSIGNAL); /* may fail: the client may have closed the connection */
}

void fake_say(struct fake_server *server, const char *bytes) {
    say(&server->peers[server->peer_count - 1], bytes);
}

void fake_hang_up(struct fake_server *server) {
    drop_peer(&server->peers[server->peer_count - 1]);
}

static void answer_peer(struct fake_server *server, int number) {
    struct fake_peer *peer = &server->peers[number];
    static _Thread_local char command[FAKE_BUFFER];
    if (!read_more(peer)) {
        drop_peer(peer);
        return;
    }
    while (take_command(peer, command, sizeof command)) {
        const char *bytes = server->answer(server->context, number, command);
        if (!bytes) {
            drop_peer(peer);
            return;
        }
        say(peer, bytes);
    }
}

static void *serve(void *argument) {
    struct fake_server *server = argument;
    for (;;) {
        struct pollfd fds[FAKE_PEERS + 2] = {{server->stop, POLLIN, 0}, {server->listener, POLLIN, 0}};
        int count = server->peer_count;
        for (int i = 0; i < count; i++) {
            fds[i + 2] = (struct pollfd){server->peers[i].fd, POLLIN, 0};
        }
        if (poll(fds, (nfds_t)count + 2, -1) < 0 || fds[0].revents) {
            return NULL;
        }
        if (fds[1].revents) {
            take_peer(server);
        }
        for (int i = 0; i < count; i++) {
            if (fds[i + 2].revents) {
                answer_peer(server, i);
            }
        }
    }
}

void fake_serve(struct fake_server *server, fake_answer *answer, void *context) {
    server->answer = answer;
    server->context = context;
    must(pthread_create(&server->thread, NULL, serve, server) == 0, "thread");
    server->serving = true;
}

static bool begins(const char *text, const char *part) {
    return strncmp(text, part, strlen(part)) == 0;
}

const char *fake_greeting(int connection, const char *command) {
    static _Thread_local char number[16];
    if (begins(command, "AUTH ") || begins(command, "SELECT ") || begins(command, "CLIENT SETNAME ")) {
        return "+OK\r\n";
    }
    if (strcmp(command, "CLIENT ID") == 0) {
        snprintf(number, sizeof number, ":%d\r\n", 100 + connection);
        return number;
    }
    if (strcmp(command, "INFO server") == 0) {
        return "$66\r\n# Server\r\nrun_id:" FAKE_RUN_ID "\r\nhz:10\r\n\r\n";
    }
    return begins(command, "CLIENT KILL ") ? ":1\r\n" : NULL;
}
