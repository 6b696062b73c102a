/* Replication between simulated servers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "replication.h"

#include <stdlib.h>

#include "network.h"

struct key_copy {
    struct key_copy *next;
    int64_t at;
    uint64_t offset;
    struct keyspace *keyspace;
};

static void drop_copies(struct replication *replica) {
    while (replica->first) {
        struct key_copy *copy = replica->first;
        replica->first = copy->next;
        keyspace_free(copy->keyspace);
        free(copy);
    }
    replica->end = &replica->first;
}

/* Sends a copy of the master's keys to a replica. It arrives after the copies that are on their way. */
static void send_copy(struct network *network, struct sim_server *server) {
    struct replication *replica = &server->replication;
    const struct sim_server *master = replica->master;
    struct key_copy *copy = allocate(1, sizeof *copy);
    int64_t last = 0;
    for (const struct key_copy *each = replica->first; each; each = each->next) {
        last = each->at;
    }
    int64_t at = network->world->now + random_between(&network->world->random, 100, replica->lag_max);
    *copy = (struct key_copy){
        .at = at > last ? at : last, .offset = master->replication.offset, .keyspace = keyspace_copy(master->keyspace)};
    *replica->end = copy;
    replica->end = &copy->next;
}

void replication_note_script(struct network *network, struct sim_server *server) {
    struct replication *own = &server->replication;
    uint64_t changes = keyspace_changes(server->keyspace);
    if (changes == own->changes) {
        return;
    }
    own->changes = changes;
    own->offset++;
    for (uint32_t i = 0; i < network->server_count; i++) {
        if (network->servers[i]->replication.master == server) {
            send_copy(network, network->servers[i]);
        }
    }
}

void replication_follow(struct network *network, struct sim_server *server, struct sim_server *master) {
    struct replication *replica = &server->replication;
    drop_copies(replica);
    replica->master = master;
    replica->is_synced = false;
    send_copy(network, server);
}

void replication_promote(struct sim_server *server) {
    struct replication *replica = &server->replication;
    drop_copies(replica);
    replica->master = NULL;
    replica->changes = keyspace_changes(server->keyspace);
}

/* Replaces a replica's keys by the oldest copy on its way. */
static void take_copy(struct sim_server *server) {
    struct replication *replica = &server->replication;
    struct key_copy *copy = replica->first;
    replica->first = copy->next;
    replica->end = replica->first ? replica->end : &replica->first;
    keyspace_free(server->keyspace);
    server->keyspace = copy->keyspace;
    network_publish_from(server);
    replica->offset = copy->offset;
    replica->is_synced = true;
    free(copy);
}

void replication_catch_up(struct network *network, struct sim_server *server) {
    while (server->replication.first) {
        take_copy(server);
    }
    if (network->replicated) {
        network->replicated(network->world, server);
    }
}

uint32_t replication_count(const struct network *network, const struct sim_server *master, uint64_t offset) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < network->server_count; i++) {
        const struct replication *replica = &network->servers[i]->replication;
        count += replica->master == master && replica->is_synced && replica->offset >= offset;
    }
    return count;
}

static int64_t next_of(const struct replication *replica) {
    int64_t at = replica->first ? replica->first->at : NEVER;
    return at > replica->frozen_until ? at : replica->frozen_until;
}

int64_t replication_next(const struct network *network) {
    int64_t next = NEVER;
    for (uint32_t i = 0; i < network->server_count; i++) {
        int64_t at = next_of(&network->servers[i]->replication);
        next = network->servers[i]->replication.first && at < next ? at : next;
    }
    return next;
}

bool replication_step(struct network *network) {
    for (uint32_t i = 0; i < network->server_count; i++) {
        struct sim_server *server = network->servers[i];
        if (server->replication.first && next_of(&server->replication) <= network->world->now) {
            take_copy(server);
            if (network->replicated) {
                network->replicated(network->world, server);
            }
            return true;
        }
    }
    return false;
}

void replication_free(struct sim_server *server) {
    drop_copies(&server->replication);
}
