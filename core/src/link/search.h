/* The search for a master, over sockets: short-lived connections to sentinels and to the servers that they announce;
 * or for the topology of a cluster, to its nodes. Never blocks, but for a name that is looked up; the owner polls
 * search_descriptor and calls search_step.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_H
#define SEARCH_H

#include "connection.h"
#include "discovery.h"
#include "parsed.h"
#include "topology.h"

struct search {
    struct discovery discovery;
    struct connection_settings sentinel; /* of the connections to sentinels */
    struct connection_settings master;   /* of those to candidates */
    struct uri where;                    /* the target, for a look-up and for messages */
    struct connection connection;
    struct reply_holder holder;
    struct lookup *lookup;
    const struct address_map *map;
    struct topology *topology; /* of a cluster: to be filled; NULL: a master is searched for */
    const _Atomic bool *stop;
    int64_t give_up_at;
    int64_t deadline; /* of the connection to the target, and of its replies */
    bool requested;   /* the sentinel was asked */
    struct endpoint announced;
    struct addresses found;            /* of the master, once it is found */
    char run_id[PROCESS_ID_SIZE];      /* of its process; empty: it does not say */
    char followed_id[PROCESS_ID_SIZE]; /* the replication history of the replica that named its master last */
};

/* Settings of connections to sentinels, from those to the master. */
struct connection_settings search_sentinel_settings(const struct credentials *credentials,
                                                    const struct connection_settings *master);

/* `uri`, the sentinels' credentials, `master` and `topology` outlive the search. */
void search_init(struct search *search, const struct uri *uri, const struct credentials *credentials,
                 const struct connection_settings *master, struct topology *topology, const _Atomic bool *stop);

void search_begin(struct search *search, int64_t now);
bool search_is_running(const struct search *search);

/* AGAIN while it goes on; OK: search->discovery.target is the master, `found` its address, or the topology is there;
 * else why it failed, with the words in search->discovery.why. */
int search_step(struct search *search, int64_t now);

/* What to poll, -1 for nothing, and when to step at the latest. */
int search_descriptor(const struct search *search, short *events_out);
int64_t search_next_time(const struct search *search, int64_t now);

/* Ends a search under way. search_forget only closes the descriptor: for a forked child. */
void search_close(struct search *search);
void search_forget(struct search *search);

/* Takes an address as sentinels send it, host and port, and translates it; false if these are none. */
bool search_address(const struct address_map *map, const struct reply *host, const struct reply *port,
                    struct endpoint *out);

#endif
