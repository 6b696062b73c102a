/* A server whose replies a test defines. The test either plays it in its own thread, or has a thread that replies to
 * each command with what a function of the test returns.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { FAKE_PEERS = 32, FAKE_BUFFER = 1 << 17 };

#define FAKE_RUN_ID "0123456789abcdef0123456789abcdef01234567"
#define FAKE_OTHER_RUN_ID "ffffffffffffffffffffffffffffffffffffffff"

/* Returns the bytes to reply to a command: "" for no reply, NULL to close the connection. `command` has the words of
 * the command with blanks between them. Connections are numbered from 0. Called in the server's thread. */
typedef const char *fake_answer(void *context, int connection, const char *command);

struct fake_peer {
    int fd; /* -1 when it is gone */
    size_t size;
    char *bytes;
};

struct fake_server {
    char folder[40];
    char path[60];
    char url[100];
    int port; /* of TCP */
    int listener;
    struct fake_peer peers[FAKE_PEERS];
    int peer_count; /* connections accepted */
    fake_answer *answer;
    void *context;
    pthread_t thread;
    bool serving;
    int stop;
};

/* Begins to listen: on a unix socket, or on a free port of 127.0.0.1. fake_close ends everything. */
void fake_open_unix(struct fake_server *server);
void fake_open_tcp(struct fake_server *server);
void fake_close(struct fake_server *server);

/* For a test that plays the server itself. fake_accept waits for the next connection. fake_hear waits for the next
 * command of the newest connection and writes its words. Both return false if nothing comes within two seconds;
 * fake_hear also if the client closed the connection. */
bool fake_accept(struct fake_server *server);
bool fake_hear(struct fake_server *server, char *command, size_t size);
void fake_say(struct fake_server *server, const char *bytes);
void fake_hang_up(struct fake_server *server);

/* Accepts and answers in a thread of its own until fake_close. */
void fake_serve(struct fake_server *server, fake_answer *answer, void *context);

/* Returns what a healthy server replies to a command of a greeting, or NULL for any other command. The connection's id
 * is 100 + its number. */
const char *fake_greeting(int connection, const char *command);

#endif
