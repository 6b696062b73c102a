/* The locks that `redlatch top` knows: reports are entered, rates updated, and the locks of the screen chosen.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top.h"

/* The time constant of a rate's moving average. */
static const double AVERAGE_S = 5;

/* While a node does not reply no walk is complete. A lock that so many of them in a row did not find is gone, or on
 * a node that they did not come to. */
enum { INCOMPLETE_PASSES = 20 };

static int compare_names(const char *one, size_t one_size, const char *other, size_t other_size) {
    int order = memcmp(one, other, one_size < other_size ? one_size : other_size);
    return order ? order : (one_size > other_size) - (one_size < other_size);
}

/* Returns the index of a name, or the index at which to insert it. */
static size_t position_of(const struct top_locks *locks, const char *name, size_t size, bool *found_out) {
    size_t low = 0;
    size_t high = locks->count;
    *found_out = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_names(locks->lock[middle].name, locks->lock[middle].name_size, name, size);
        *found_out = *found_out || order == 0;
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return low;
}

static struct top_lock *lock_of(struct top_locks *locks, const char *name, size_t size) {
    bool found;
    size_t at = position_of(locks, name, size, &found);
    if (found) {
        return &locks->lock[at];
    }
    if (locks->count == locks->capacity) {
        size_t capacity = locks->capacity ? 2 * locks->capacity : 64;
        struct top_lock *larger = realloc(locks->lock, capacity * sizeof *larger);
        if (!larger) {
            return NULL;
        }
        locks->lock = larger;
        locks->capacity = capacity;
    }
    char *copy = malloc(size + 1);
    if (!copy) {
        return NULL;
    }
    memcpy(copy, name, size);
    copy[size] = '\0';
    memmove(&locks->lock[at + 1], &locks->lock[at], (locks->count - at) * sizeof *locks->lock);
    locks->lock[at] = (struct top_lock){.name = copy, .name_size = size};
    locks->count++;
    return &locks->lock[at];
}

/* Returns the copy of a node's address that all locks on the node share. Returns NULL if there was no memory. */
static const char *node_of(struct top_locks *locks, const char *address) {
    for (size_t i = 0; i < locks->node_count; i++) {
        if (strcmp(locks->node[i], address) == 0) {
            return locks->node[i];
        }
    }
    char **larger = realloc(locks->node, (locks->node_count + 1) * sizeof *larger);
    char *copy = larger ? strdup(address) : NULL;
    locks->node = larger ? larger : locks->node;
    if (copy) {
        locks->node[locks->node_count++] = copy;
    }
    return copy;
}

static void note_host(struct top_lock *lock, const struct hosts *hosts) {
    redlatch_party party = {.pid = 0};
    snprintf(party.owner, sizeof party.owner, "%s", lock->owner);
    hosts_fill(hosts, &party);
    if (party.pid) {
        party_location(&party, lock->host);
    }
}

void top_note_holder(const struct top_locks *locks, struct top_lock *lock, const char *owner, uint64_t token) {
    if (token > lock->token && lock->token) {
        lock->changes += token - lock->token;
    } else if (token == lock->token && *owner && *lock->owner && strcmp(owner, lock->owner) != 0) {
        lock->changes++;
    }
    if (strcmp(owner, lock->owner) != 0) {
        lock->host[0] = '\0';
    }
    lock->token = token;
    snprintf(lock->owner, sizeof lock->owner, "%s", owner);
    note_host(lock, &locks->hosts);
}

bool top_take(struct top_locks *locks, redlatch_report *report) {
    struct found found;
    redlatch_party party;
    if (!found_read(&found, report)) {
        redlatch_report_free(report);
        return false;
    }
    struct top_lock *lock = lock_of(locks, found.name, (size_t)found.facts.name_size);
    const char *node = node_of(locks, found.facts.node);
    bool held = found_party(&found, 0, &party) && party.role != REDLATCH_WAITER;
    if (lock) {
        lock->detected_kind = found.facts.detected_kind;
        lock->holders = found.facts.holders;
        lock->count = held ? party.count : 0;
        lock->waiters = found.facts.waiters;
        lock->ttl_ms = found.facts.ttl_ms;
        lock->pass = locks->pass;
        lock->node = node;
        top_note_holder(locks, lock, held ? party.owner : "", found.facts.token);
    }
    redlatch_report_free(report);
    return lock && node;
}

void top_end_pass(struct top_locks *locks, bool complete) {
    uint32_t most = complete ? 0 : INCOMPLETE_PASSES;
    size_t kept = 0;
    for (size_t i = 0; i < locks->count; i++) {
        if (locks->pass - locks->lock[i].pass <= most) {
            locks->lock[kept++] = locks->lock[i];
        } else {
            free(locks->lock[i].name);
        }
    }
    locks->count = kept;
    locks->pass++;
    locks->complete = locks->complete || complete;
}

void top_age(struct top_locks *locks, double seconds) {
    double weight = 1 - exp(-seconds / AVERAGE_S);
    for (size_t i = 0; i < locks->count; i++) {
        struct top_lock *lock = &locks->lock[i];
        lock->rate += ((double)lock->changes / seconds - lock->rate) * weight;
        lock->changes = 0;
    }
}

static int compare_locks(const void *one, const void *other) {
    const struct top_lock *first = *(struct top_lock *const *)one;
    const struct top_lock *second = *(struct top_lock *const *)other;
    long first_rate = lround(first->rate * 10);
    long second_rate = lround(second->rate * 10);
    uint64_t first_waiting = first->waiting > first->waiters ? first->waiting : first->waiters;
    uint64_t second_waiting = second->waiting > second->waiters ? second->waiting : second->waiters;
    if (first_rate != second_rate) {
        return first_rate < second_rate ? 1 : -1;
    }
    if (first_waiting != second_waiting) {
        return first_waiting < second_waiting ? 1 : -1;
    }
    return compare_names(first->name, first->name_size, second->name, second->name_size);
}

struct top_lock **top_choose(const struct top_locks *locks, size_t most, size_t *count_out) {
    struct top_lock **chosen = calloc(locks->count + 1, sizeof *chosen);
    for (size_t i = 0; chosen && i < locks->count; i++) {
        chosen[i] = &locks->lock[i];
    }
    if (chosen && locks->count) {
        qsort(chosen, locks->count, sizeof(struct top_lock *), compare_locks);
    }
    *count_out = !chosen ? 0 : locks->count < most ? locks->count : most;
    return chosen;
}

void top_free(struct top_locks *locks) {
    for (size_t i = 0; i < locks->count; i++) {
        free(locks->lock[i].name);
    }
    for (size_t i = 0; i < locks->node_count; i++) {
        free(locks->node[i]);
    }
    free(locks->node);
    free(locks->lock);
    hosts_free(&locks->hosts);
}
