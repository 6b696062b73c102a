/* The search for a master as a state machine, without sockets: which sentinel is asked next, what its reply means, and
 * when to give up.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   step      target              report                                     next step
 *   ASK       a sentinel          announced                                  VERIFY
 *                                 service unknown, error reply, unreachable  ASK of the next one; FAILED after the last
 *   VERIFY    the announced one   master, or role unknown                    FOUND
 *                                 replica, unreachable, error reply          ASK of the next one; FAILED after the last
 *
 * Sentinels name further sentinels. After a search the client keeps three kinds of sources: those of the URL, the one
 * that announced the master, and those that this one named. It forgets the others.
 *
 * With a list of nodes of a cluster, each is asked for the topology: ASK of one after the other, until one knows it:
 * FOUND. The next search also asks the masters of that topology: the nodes of the list may have been replaced by then.
 *
 * With a list of servers in place of sentinels, every server is a candidate: VERIFY of one after the other. The masters
 * that replicas of the list name are verified last; each must have the replicas' replication history. The next
 * search keeps the master that was found, and forgets the others.
 *
 * A search begins with the source with which the last one succeeded. It asks every sentinel, even if two announce the
 * same server: that server may have been promoted meanwhile. */
#ifndef DISCOVERY_H
#define DISCOVERY_H

#include "endpoint.h"

enum discovery_step { DISCOVERY_IDLE, DISCOVERY_ASK, DISCOVERY_VERIFY, DISCOVERY_FOUND, DISCOVERY_FAILED };

/* The role that a server reports of itself. */
enum server_role { ROLE_UNKNOWN, ROLE_MASTER, ROLE_REPLICA };

enum { DISCOVERY_WHY_SIZE = 480 };

struct discovery {
    const char *service; /* as the sentinels name it; NULL: the list has servers, not sentinels */
    bool of_cluster;     /* the list has nodes, which are asked for the topology */
    struct endpoints sources;
    int given;                   /* how many of them the URL named */
    int next;                    /* the index of the source that is asked now */
    int tried;                   /* how many sources were tried */
    bool visited[ENDPOINTS_MAX]; /* which of them */
    bool listed[ENDPOINTS_MAX];  /* which of them the sentinel that is asked names */
    enum discovery_step step;
    struct endpoint target;       /* the server to ask or to verify; FOUND: the master */
    int status;                   /* FAILED: why; `why` is the text for it */
    char why[DISCOVERY_WHY_SIZE]; /* the failure of the greatest weight so far */
    int weight;                   /* of that failure */
    bool found_before;            /* the service was known: if it is unknown now, that may be transient */
};

/* `service` must outlive the search. */
void discovery_init(struct discovery *discovery, const struct endpoints *sources, const char *service, bool of_cluster);

void discovery_begin(struct discovery *discovery);

/* In ASK: the sentinel announces a master, does not know the service, or names another sentinel. */
void discovery_announced(struct discovery *discovery, const struct endpoint *master);
void discovery_service_unknown(struct discovery *discovery);
void discovery_learned(struct discovery *discovery, const struct endpoint *sentinel);

/* In ASK: a node of the cluster knows the topology, with these masters. */
void discovery_topology_known(struct discovery *discovery, const struct endpoint *masters, int count);

/* In VERIFY: the candidate is a replica of this server. */
void discovery_replica_of(struct discovery *discovery, const struct endpoint *master);

/* In VERIFY: returns whether a replica named the target, and not the URL. */
bool discovery_is_followed(const struct discovery *discovery);

/* In VERIFY: the role that the candidate reports. */
void discovery_verified(struct discovery *discovery, enum server_role role);

/* In either step: the target gave no usable reply. `status` is UNREACHABLE, AUTHENTICATION or another. Returns whether
 * `status` and `why` are the failure to report so far. */
bool discovery_target_failed(struct discovery *discovery, int status, const char *why);

/* Ends the search: its time is over. */
void discovery_give_up(struct discovery *discovery, const char *why);

#endif
