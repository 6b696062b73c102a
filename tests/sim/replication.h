/* Replication between simulated servers: a replica has the keys of its master as they were some time ago.
 * SPDX-License-Identifier: Apache-2.0
 *
 * After each script that wrote, a copy of the master's keys is sent to every replica. So a promoted replica has the
 * keys that its master had at one moment. What was written after that moment is lost. */
#ifndef REPLICATION_H
#define REPLICATION_H

#include "keyspace.h"

struct network;
struct sim_server;
struct key_copy;

struct replication {
    struct sim_server *master; /* NULL: the server is a master */
    struct key_copy *first;    /* replica: the copies on their way, in order */
    struct key_copy **end;
    uint64_t offset;  /* master: how many scripts wrote; replica: how many of these its keys include */
    uint64_t changes; /* master: the changes of its keys that `offset` includes */
    int64_t lag_max;  /* replica: how long a copy takes at most */
    int64_t frozen_until;
    bool is_synced; /* replica: it has received a first copy from its master */
};

/* Called after a script ran on a server. If the script wrote, sends the keys to the replicas. */
void replication_note_script(struct network *network, struct sim_server *server);

/* Makes a server the replica of another. Its own keys are replaced when the first copy arrives. */
void replication_follow(struct network *network, struct sim_server *server, struct sim_server *master);

/* Makes a replica a master with the keys that it has. */
void replication_promote(struct sim_server *server);

/* Lets all copies on their way to a replica arrive now. */
void replication_catch_up(struct network *network, struct sim_server *server);

/* Returns how many replicas of a master have everything up to an offset. */
uint32_t replication_count(const struct network *network, const struct sim_server *master, uint64_t offset);

/* replication_next returns when the next copy arrives, or NEVER. replication_step takes one copy that is due, and
 * returns false if none is. */
int64_t replication_next(const struct network *network);
bool replication_step(struct network *network);

void replication_free(struct sim_server *server);

#endif
