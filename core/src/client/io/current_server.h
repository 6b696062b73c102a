/* Which server a client is on. A client, or a node of a cluster, has one server process at a time. If another process
 * answers, as after a failover or a change of a name's address, all connections move before anything is resolved or
 * renewed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The server is known by its run id, which the greeting returns, and by its address, which a search for the master
 * finds. Everything here is used with the client's mutex. */
#ifndef CURRENT_SERVER_H
#define CURRENT_SERVER_H

#include "search.h"

enum { SERVERS_LEFT = 4 };

/* A move that the host was not notified of yet. */
struct move_event {
    bool pending;
    char from[ENDPOINT_TEXT_SIZE];
    char to[ENDPOINT_TEXT_SIZE];
};

struct current_server {
    struct search *search; /* for the master, or the topology; NULL if the URL names the server itself */
    struct uri where;      /* the master's address, for messages */
    struct addresses addresses;
    int64_t moved_at; /* connections that were begun before lead to the old server */
    int64_t returns_from;
    int64_t search_until;     /* the background thread gives its search up then */
    int64_t search_from;      /* no search before, because the last one failed; else 0 */
    int64_t repeat_from;      /* no search of the background thread before, unless one is requested */
    int64_t failing_since;    /* when the first search failed since one has found the server; else 0 */
    int64_t doubted_from;     /* of a cluster: no search of the background thread before, because the last one has just
                                 ended */
    int64_t read_only_until;  /* until then READONLY is believed: the last one was followed by a lookup */
    struct endpoint endpoint; /* of the master; its host is empty before it is found */
    int left_count;
    int returns;                              /* moves back to one of `left`, since returns_from */
    int search_failure;                       /* the status of the last search */
    char run_id[PROCESS_ID_SIZE];             /* empty: not known */
    char left[SERVERS_LEFT][PROCESS_ID_SIZE]; /* where the client was before */
    bool must_search;                         /* the background thread is to search, even while connections stand */
    struct move_event moves[2];               /* by enum loss_queue */
    struct move_event reported_moves[2];      /* whose addresses the host may be reading */
};

/* What a greeting shows about the client's server. */
enum server_change {
    SERVER_SAME,
    SERVER_MOVED,     /* another process: all other connections are to move */
    SERVER_STALE,     /* the connection leads to a server that the client has left */
    SERVER_ALTERNATES /* connections lead to several processes in turn */
};

struct client;
struct node;

/* Sets the search up if the URL needs one. Returns false if there was no memory. */
bool current_server_init(struct client *client);
void current_server_free(struct client *client);

static inline bool current_server_is_searched(const struct current_server *server) {
    return server->search;
}

/* Returns whether the master's address is known. */
static inline bool current_server_is_known(const struct current_server *server) {
    return server->endpoint.host[0];
}

/* Judges a connection that has become READY. */
enum server_change current_server_greeted(struct node *node, const struct connection *connection, int64_t now);

/* Takes over what a search has found. Returns true if that is another server than before: another address, or another
 * process at the same address. */
bool current_server_found(struct client *client, int64_t now);

/* Has the background thread search for the master, or the topology, from now on, for a bounded time. */
void current_server_request_search(struct client *client, int64_t now);

/* Called after a replica refused a command. Returns whether its connection is to be made anew, to find the master. */
bool current_server_may_be_elsewhere(struct node *node, int64_t now);

#endif
