/* Redis servers at the other ends of the lines: the model of the simulations, behind the Redis protocol.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SERVERS_H
#define MODEL_SERVERS_H

#include <stdbool.h>
#include <stdint.h>

/* The servers have the numbers from 0, the sentinels (model_sentinels.h) those behind them. */
enum { SERVERS = 3, SENTINELS = 3 };

/* Which commands a user is not permitted. */
enum { DENIES_CLIENT = 1, DENIES_INFO = 2, DENIES_SUBSCRIBE = 4, DENIES_INSPECT = 8 };

/* One connection of a client, as checks see it. */
struct seen_session {
    int server;
    const char *name;     /* of CLIENT SETNAME; it identifies the client */
    const char *password; /* of the last accepted AUTH */
    bool subscribed;
    int64_t searched_at; /* when it asked a sentinel last; 0: never */
    bool used;           /* neither end has closed it, as far as that end knows */
};

/* Called when a script is being sent, and by model_servers_each for each connection. */
typedef void script_watcher(const struct seen_session *session);

/* Loads the scripts. Called once in a process. */
void model_servers_open(void);

/* These make and free empty servers. Called before and after each run. */
void model_servers_begin(void);
void model_servers_end(void);

/* Until then the server serves nothing. */
void model_server_freeze(int server, int64_t until);

/* Until then every command but those of the greeting gets this error reply. */
void model_server_refuse(int server, const char *error, int64_t until);

/* Sends each client bytes that are not of the Redis protocol. */
void model_server_babble(int server);

/* Until then scripts run, but their replies have random shapes. */
void model_server_garble(int server, int64_t until);

void model_server_deny(int server, int denied);

/* Ends all connections of a server. */
void model_server_cut(int server);

/* Ends the newest connection for commands of each client. */
void model_server_cut_some(int server);
void model_server_restart(int server, bool keep);
void model_server_forget_scripts(int server);

/* Deletes a key, as another client does, and publishes the message of a release. */
void model_server_delete(int server, const char *key);

/* Publishes that message `messages` times at once, as another client does. */
void model_server_flood(int server, const char *key, int messages);

/* Replaces a key by one of another type, or of another kind of lock. */
void model_server_replace(int server, const char *key, int shape);

/* Makes the server a replica, which refuses writes. */
void model_server_demote(int server);

/* model_server_promote makes a server the master, with the keys that server `from` has, or had when they were
 * marked. */
void model_server_mark(int server);
void model_server_promote(int server, int from);

/* Accepts only these two passwords; NULL: none. Ends the connections that were authenticated with another password. */
void model_server_let_in(int server, const char *password, const char *other);

/* Publishes `times` times what a release of that lock publishes. Returns the number of receivers. */
int model_server_publish(int server, const char *key, int times);

/* Publishes a message on a channel. */
void model_server_tell(int server, const char *channel, const char *message);

/* Returns the keys of a server, with the clock set to the current time. */
struct keyspace;
struct keyspace *model_server_keyspace(int server);

/* For checks. */
void model_servers_watch(script_watcher *script);
void model_servers_each(script_watcher *each);
bool model_server_has(int server, const char *key, const char *field);

/* Whether a client has closed a connection with a channel that no other connection of the client had. */
extern bool model_servers_gap;

/* Writes the remaining keys to the trace. */
void model_server_show(int server);

#endif
