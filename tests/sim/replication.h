/* Replication between simulated servers: a replica has the keys of its master as they were some time ago.
 * SPDX-License-Identifier: Apache-2.0
 *
 * After each script that wrote, a copy of the master's keys is on its way to every replica. So a promoted replica has
 * what its master had at one moment, and the tail of what was written after that is lost. */
#ifndef REPLICATION_H
#define REPLICATION_H

#include "keyspace.h"

struct network;
struct sim_server;
struct key_copy;

struct replication {
    struct sim_server *master; /* NULL: it takes writes itself */
    struct key_copy *first;    /* replica: what is on its way, in order */
    struct key_copy **end;
    uint64_t offset;  /* master: scripts that wrote; replica: those of its master that it has */
    uint64_t changes; /* master: of its keys, as far as they are in `offset` */
    int64_t lag_max;  /* replica: how long a copy takes at most */
    int64_t frozen_until;
    bool is_synced; /* replica: it has a first copy from its master */
};

/* A script ran on a server: what it wrote goes to the replicas. */
void replication_note_script(struct network *network, struct sim_server *server);

/* A server becomes the replica of another one. Its own keys are replaced when the first copy comes. */
void replication_follow(struct network *network, struct sim_server *server, struct sim_server *master);

/* A replica becomes a master, with what it has. */
void replication_promote(struct sim_server *server);

/* What is on its way to a replica arrives now. */
void replication_catch_up(struct network *network, struct sim_server *server);

/* How many replicas of a master have what was written up to an offset. */
uint32_t replication_count(const struct network *network, const struct sim_server *master, uint64_t offset);

/* When the next copy arrives; NEVER if none is on its way. Takes one that is due; false when there is none. */
int64_t replication_next(const struct network *network);
bool replication_step(struct network *network);

void replication_free(struct sim_server *server);

#endif
