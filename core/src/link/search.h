/* The search for a master, over short-lived connections to sentinels and to the servers that they announce; or for the
 * topology of a cluster, from its nodes. Never blocks: the owner polls search_descriptor, and calls search_step by
 * search_next_time at the latest.
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
    struct connection_settings master;   /* of the connections to candidates */
    struct uri where;                    /* the target, for a lookup and for messages */
    struct connection connection;
    struct reply_holder holder;
    struct lookup *lookup;
    const struct address_map *map;
    struct topology *topology; /* of a cluster: to be filled; NULL: a master is searched for */
    const _Atomic bool *stop;
    int64_t give_up_at;
    int64_t deadline; /* of the connection to the target, and of its replies */
    bool requested;   /* the commands were written to the sentinel or node */
    bool refused;     /* if the search failed with AUTHENTICATION: user or password were refused, not a certificate */
    struct endpoint announced;
    struct addresses found;            /* of the master, once it is found */
    char run_id[PROCESS_ID_SIZE];      /* of its process; empty if unknown */
    char followed_id[PROCESS_ID_SIZE]; /* the replication history of the replica that named its master last */
};

/* Returns the settings of connections to sentinels, made from those to the master. */
struct connection_settings search_sentinel_settings(const struct credentials *credentials,
                                                    const struct connection_settings *master);

/* `uri`, the sentinels' credentials, `master` and `topology` outlive the search. */
void search_init(struct search *search, const struct uri *uri, const struct credentials *credentials,
                 const struct connection_settings *master, struct topology *topology, const _Atomic bool *stop);

void search_begin(struct search *search, int64_t now);
bool search_is_running(const struct search *search);

/* Returns AGAIN while the search goes on. OK: search->discovery.target is the master and `found` its address, or the
 * topology was read. Else returns why the search failed, with the text in search->discovery.why. */
int search_step(struct search *search, int64_t now);

/* Return the descriptor to poll, or -1, and when to step at the latest. */
int search_descriptor(const struct search *search, short *events_out);
int64_t search_next_time(const struct search *search, int64_t now);

/* Ends a search that goes on. search_forget, for a forked child, only closes the descriptor. */
void search_close(struct search *search);
void search_forget(struct search *search);

/* Reads an address as sentinels send it, host and port, and translates it. Returns false if it is not valid. */
bool search_address(const struct address_map *map, const struct reply *host, const struct reply *port,
                    struct endpoint *out);

#endif
