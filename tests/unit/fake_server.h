/* A server made of answers, to connect to: by hand in the test's own thread, or with a thread that answers every
 * command as a function of the test says.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { FAKE_PEERS = 32, FAKE_BUFFER = 1 << 17 };

#define FAKE_RUN_ID "0123456789abcdef0123456789abcdef01234567"
#define FAKE_OTHER_RUN_ID "ffffffffffffffffffffffffffffffffffffffff"

/* What a command is answered with: bytes, "" for silence, NULL to hang up. `command` is its words with blanks between;
 * connections are numbered from 0. Called in the server's thread. */
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

/* By hand. fake_accept waits for the next connection; fake_hear for the next command of the newest connection and
 * writes its words; false when none comes within two seconds or the other side hung up. */
bool fake_accept(struct fake_server *server);
bool fake_hear(struct fake_server *server, char *command, size_t size);
void fake_say(struct fake_server *server, const char *bytes);
void fake_hang_up(struct fake_server *server);

/* Accepts and answers in a thread of its own until fake_close. */
void fake_serve(struct fake_server *server, fake_answer *answer, void *context);

/* What a good server answers to the commands of a greeting; NULL for any other command. The connection's id is
 * 100 + its number. */
const char *fake_greeting(int connection, const char *command);

#endif
