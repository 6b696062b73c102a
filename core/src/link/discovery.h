/* The search for a master, without sockets: which sentinel is asked next, what its reply means, and when to give up.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   step      target              report                                     next step
 *   ASK       a sentinel          announced                                  VERIFY
 *                                 service unknown, error reply, unreachable  ASK of the next one; FAILED after the last
 *   VERIFY    the announced one   master, or it does not say                 FOUND
 *                                 replica, unreachable, error reply          ASK of the next one; FAILED after the last
 *
 * With a list of nodes of a cluster, each is asked for the topology: ASK of one after the other, until one knows it:
 * FOUND. Its masters are asked, too, in the next search: those of the list may have been replaced by then.
 *
 * With a list of servers in place of sentinels, every server is a candidate: VERIFY of one after the other. The masters
 * that replicas of the list name are verified last; each must have the replicas' history. The next search forgets them,
 * except the one that was found.
 *
 * A search begins with the source that was right last. It asks every sentinel, even if two announce the same server:
 * that server may have been promoted meanwhile. */
#ifndef DISCOVERY_H
#define DISCOVERY_H

#include "endpoint.h"

enum discovery_step { DISCOVERY_IDLE, DISCOVERY_ASK, DISCOVERY_VERIFY, DISCOVERY_FOUND, DISCOVERY_FAILED };

/* What a server says that it is. */
enum server_role { ROLE_UNKNOWN, ROLE_MASTER, ROLE_REPLICA };

enum { DISCOVERY_WHY_SIZE = 480 };

struct discovery {
    const char *service; /* as the sentinels name it; NULL: the list has servers, not sentinels */
    bool of_cluster;     /* these are asked for the topology */
    struct endpoints sources;
    int given;                   /* how many of them the URL named */
    int next;                    /* the index of the source that is asked now */
    int tried;                   /* how many have been */
    bool visited[ENDPOINTS_MAX]; /* which */
    enum discovery_step step;
    struct endpoint target;       /* who is to be asked or verified; FOUND: the master */
    int status;                   /* FAILED: why, and `why` in words */
    char why[DISCOVERY_WHY_SIZE]; /* the most telling failure so far */
    int weight;                   /* how telling */
    bool found_before;            /* a service that was known once may be forgotten for a moment only */
};

/* `service` must outlive the search. */
void discovery_init(struct discovery *discovery, const struct endpoints *sources, const char *service, bool of_cluster);

void discovery_begin(struct discovery *discovery);

/* Of ASK: the sentinel names a master, knows no such service, or knows another sentinel. */
void discovery_announced(struct discovery *discovery, const struct endpoint *master);
void discovery_service_unknown(struct discovery *discovery);
void discovery_learned(struct discovery *discovery, const struct endpoint *sentinel);

/* Of ASK: a node of the cluster knows the topology, with so many masters. */
void discovery_topology_known(struct discovery *discovery, const struct endpoint *masters, int count);

/* Of VERIFY: the candidate is the replica of this server. */
void discovery_replica_of(struct discovery *discovery, const struct endpoint *master);

/* Of VERIFY: no URL named the target, but a replica. */
bool discovery_is_followed(const struct discovery *discovery);

/* Of VERIFY: what the candidate says it is. */
void discovery_verified(struct discovery *discovery, enum server_role role);

/* Of either: the target could not be asked. status: UNREACHABLE, AUTHENTICATION or another. */
void discovery_target_failed(struct discovery *discovery, int status, const char *why);

/* Ends the search: there is no more time. */
void discovery_give_up(struct discovery *discovery, const char *why);

#endif
