/* The locks that `redlatch top` shows: what is known of each, and how often its holder changed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOP_H
#define TOP_H

#include "found.h"

struct top_lock {
    char *name;
    size_t name_size;
    int detected_kind;
    char owner[128];          /* of the first holder; empty: it is free */
    char host[LOCATION_SIZE]; /* the location of the first holder; empty: unknown */
    const char *node;         /* the node that it is on */
    uint64_t holders;
    uint64_t count;   /* the first holder's hold count */
    uint64_t waiters; /* in the server's queue */
    uint64_t waiting; /* connections that are subscribed to its releases */
    uint64_t token;   /* of a fenced lock */
    int64_t ttl_ms;   /* at the last query */
    uint64_t changes; /* of the holder, since the rate was last updated */
    double rate;      /* changes a second, averaged over some seconds */
    uint32_t pass;    /* number of the walk over the keys that found it last */
};

struct top_locks {
    struct top_lock *lock; /* sorted by name */
    size_t count;
    size_t capacity;
    uint32_t pass; /* number of the walk under way */
    bool complete; /* a walk has ended: all locks are known */
    struct hosts hosts;
    char **node; /* addresses */
    size_t node_count;
};

/* Enters a report, which it frees. Returns false if there was no memory. */
bool top_take(struct top_locks *locks, redlatch_report *report);

/* Called at the end of a walk over the keys. Removes the locks that it did not find. A walk that failed midway removes
 * those that the twenty before it did not find, either. */
void top_end_pass(struct top_locks *locks, bool complete);

/* Notes the present holder of a lock and its host, and counts the changes: if the token grew, by the difference, which
 * counts all holds in between; else one if the owner changed. */
void top_note_holder(const struct top_locks *locks, struct top_lock *lock, const char *owner, uint64_t token);

/* top_samples.c: queries the present holders of some locks, with one command to each node. Of several changes between
 * two calls only one is seen. If a node does not reply, its locks stay as they were. */
void top_sample(const struct top_locks *locks, redlatch_client *client, const char *prefix,
                struct top_lock *const *chosen, size_t count);

/* top_samples.c: counts the connections that wait for the releases of some locks. */
void top_count_waiting(redlatch_client *client, const char *prefix, struct top_lock *const *chosen, size_t count);

/* Updates the rates. The last update was `seconds` ago. */
void top_age(struct top_locks *locks, double seconds);

/* Returns the locks that are sorted first, `most` at most: by rate, then by waiters, then by name. In new memory, or
 * NULL if there is none. */
struct top_lock **top_choose(const struct top_locks *locks, size_t most, size_t *count_out);

void top_free(struct top_locks *locks);

#endif
