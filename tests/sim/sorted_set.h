/* A Redis sorted set: members in the order of their scores, then of their bytes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The set is an array, because the scripts mostly query ranges and the sets are small. A member is found by linear
 * search. */
#ifndef SORTED_SET_H
#define SORTED_SET_H

#include "redis_text.h"

struct sorted_member {
    double score;
    struct stored_text *name;
};

/* All zero is an empty set. */
struct sorted_set {
    struct sorted_member *members;
    size_t count;
    size_t capacity;
};

#define SORTED_SET_ABSENT SIZE_MAX

/* Returns the position of a member, or SORTED_SET_ABSENT. */
size_t sorted_set_find(const struct sorted_set *set, struct redis_text name);

/* Returns the position of the first member with a score of at least `bound`, or above `bound` if `exclusive`. */
size_t sorted_set_first_from(const struct sorted_set *set, double bound, bool exclusive);

/* Adds a member that is not in the set. */
void sorted_set_add(struct sorted_set *set, double score, struct redis_text name);

void sorted_set_rescore(struct sorted_set *set, size_t position, double score);
void sorted_set_remove(struct sorted_set *set, size_t position);
void sorted_set_copy(struct sorted_set *copy, const struct sorted_set *set);
void sorted_set_release(struct sorted_set *set);

#endif
