/* Redis servers at the far end of the lines: the model of the simulations, spoken to in the Redis protocol.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SERVERS_H
#define MODEL_SERVERS_H

#include <stdbool.h>
#include <stdint.h>

enum { SERVERS = 3 };

/* What a user may be forbidden. */
enum { DENIES_CLIENT = 1, DENIES_INFO = 2, DENIES_SUBSCRIBE = 4, DENIES_INSPECT = 8 };

/* One connection of a client, as checkers see it. */
struct seen_session {
    int server;
    const char *name;     /* of CLIENT SETNAME: the client's */
    const char *password; /* of the last AUTH that was accepted */
    bool subscribed;
    bool used; /* the client has not given it up, as far as it knows, nor has the server */
};

/* What a checker is told: that a script is being sent, and of each connection when asked. */
typedef void script_watcher(const struct seen_session *session);

/* Loads the scripts, once in a process. */
void model_servers_open(void);

/* Empty servers, before and after each run. */
void model_servers_begin(void);
void model_servers_end(void);

/* Nothing is served until then. */
void model_server_freeze(int server, int64_t until);

/* Every command but the greeting's is answered by this error until then. */
void model_server_refuse(int server, const char *error, int64_t until);

/* Sends each client what is not of the Redis protocol. */
void model_server_babble(int server);

/* Scripts run, but their replies are of another shape until then. */
void model_server_garble(int server, int64_t until);

void model_server_deny(int server, int denied);

/* All its connections end; with `restart` it has another run id and knows no script, and without `keep` no key. */
void model_server_cut(int server);

/* Of each client one of its connections ends, other than one for messages. */
void model_server_cut_some(int server);
void model_server_restart(int server, bool keep);
void model_server_forget_scripts(int server);

/* A key goes, as by somebody else, and whoever waits for a lock of that name is notified. */
void model_server_delete(int server, const char *key);

/* Somebody else notifies whoever waits for a lock of that name, so many times at once. */
void model_server_flood(int server, const char *key, int messages);

/* A key becomes something else: of another type, or of the shape of another kind of lock. */
void model_server_replace(int server, const char *key, int shape);

/* The server refuses writes from now on. */
void model_server_demote(int server);

/* The server takes the keys that another one has, or had when they were marked, and takes writes. */
void model_server_mark(int server);
void model_server_promote(int server, int from);

/* Only who authenticates with one of two passwords is served; NULL: no such one. Connections that were let in by a
 * password that is no more end. */
void model_server_let_in(int server, const char *password, const char *other);

/* What a release publishes about a lock of that name, so many times; returns how many received it. */
int model_server_publish(int server, const char *key, int times);

/* With its clock set. */
struct keyspace;
struct keyspace *model_server_keyspace(int server);

/* For checkers. */
void model_servers_watch(script_watcher *script);
void model_servers_each(script_watcher *each);
bool model_server_has(int server, const char *key, const char *field);

/* Whether another connection of that client hears all that this one did, for each that a client has ended. */
extern bool model_servers_gap;

/* What is left there goes into the trace. */
void model_server_show(int server);

#endif
