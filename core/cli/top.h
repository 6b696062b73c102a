/* The locks that `redlatch top` shows: what is known of each, and how often it changed hands.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOP_H
#define TOP_H

#include "found.h"

struct top_lock {
    char *name;
    size_t name_size;
    int detected_kind;
    char owner[128];          /* of the first holder; empty: it is free */
    char host[LOCATION_SIZE]; /* of it; empty: unknown */
    const char *node;         /* that it is on */
    uint64_t holders;
    uint64_t count;   /* the first holder's hold count */
    uint64_t waiters; /* in the server's queue */
    uint64_t waiting; /* connections that are subscribed to its releases */
    uint64_t token;   /* of a fenced lock */
    int64_t ttl_ms;   /* when it was last asked for */
    uint64_t changes; /* of the holder, since the rate was last brought up to date */
    double rate;      /* changes a second, averaged over some seconds */
    uint32_t pass;    /* the walk over the keys in which it was last found */
};

struct top_locks {
    struct top_lock *lock; /* in the order of their names */
    size_t count;
    size_t capacity;
    uint32_t pass; /* of the walk under way */
    bool complete; /* one walk has come to its end: all locks are known */
    struct hosts hosts;
    char **node; /* addresses */
    size_t node_count;
};

/* Takes a report in, which it frees. false without memory. */
bool top_take(struct top_locks *locks, redlatch_report *report);

/* A walk has come to its end: what it did not find is gone. */
void top_end_pass(struct top_locks *locks);

/* Notes the present holder of a lock and its host. The difference of two tokens counts all holds in between; the change
 * of an owner counts one. */
void top_note_holder(const struct top_locks *locks, struct top_lock *lock, const char *owner, uint64_t token);

/* top_samples.c: asks for the present holders of some locks, by one command to each node: of changes between two such
 * calls only one is seen. What a node does not say stays as it was. */
void top_sample(const struct top_locks *locks, redlatch_client *client, const char *prefix,
                struct top_lock *const *chosen, size_t count);

/* The same file: asks how many connections wait for the releases of some locks. */
void top_count_waiting(redlatch_client *client, const char *prefix, struct top_lock *const *chosen, size_t count);

/* Brings the rates up to date after so many seconds. */
void top_age(struct top_locks *locks, double seconds);

/* The locks that changed most, then those with most waiters, then by name; as many as asked for. Memory of the
 * caller's; NULL without. */
struct top_lock **top_choose(const struct top_locks *locks, size_t most, size_t *count_out);

void top_free(struct top_locks *locks);

#endif
