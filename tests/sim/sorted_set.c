/* A Redis sorted set: members in the order of their scores, then of their bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sorted_set.h"

#include <stdlib.h>

size_t sorted_set_find(const struct sorted_set *set, struct redis_text name) {
    for (size_t i = 0; i < set->count; i++) {
        if (text_equal(text_view(set->members[i].name), name)) {
            return i;
        }
    }
    return SORTED_SET_ABSENT;
}

size_t sorted_set_first_from(const struct sorted_set *set, double bound, bool exclusive) {
    size_t low = 0;
    size_t high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        double score = set->members[middle].score;
        if (score < bound || (exclusive && score <= bound)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Inserts a member at its position. The array has room for it. */
static void insert(struct sorted_set *set, struct sorted_member member) {
    size_t at = sorted_set_first_from(set, member.score, false);
    while (at < set->count && set->members[at].score <= member.score &&
           text_compare(text_view(set->members[at].name), text_view(member.name)) < 0) {
        at++;
    }
    memmove(&set->members[at + 1], &set->members[at], (set->count - at) * sizeof *set->members);
    set->members[at] = member;
    set->count++;
}

static void take_out(struct sorted_set *set, size_t position) {
    set->count--;
    memmove(&set->members[position], &set->members[position + 1], (set->count - position) * sizeof *set->members);
}

void sorted_set_add(struct sorted_set *set, double score, struct redis_text name) {
    if (set->count == set->capacity) {
        set->capacity = set->capacity == 0 ? 4 : 2 * set->capacity;
        set->members = reallocate(set->members, set->capacity, sizeof *set->members);
    }
    insert(set, (struct sorted_member){score, text_store(name)});
}

void sorted_set_rescore(struct sorted_set *set, size_t position, double score) {
    struct sorted_member member = set->members[position];
    member.score = score;
    take_out(set, position);
    insert(set, member);
}

void sorted_set_remove(struct sorted_set *set, size_t position) {
    free(set->members[position].name);
    take_out(set, position);
}

void sorted_set_copy(struct sorted_set *copy, const struct sorted_set *set) {
    *copy = (struct sorted_set){allocate(set->capacity, sizeof *set->members), set->count, set->capacity};
    for (size_t i = 0; i < set->count; i++) {
        copy->members[i] = (struct sorted_member){set->members[i].score, text_store(text_view(set->members[i].name))};
    }
}

void sorted_set_release(struct sorted_set *set) {
    for (size_t i = 0; i < set->count; i++) {
        free(set->members[i].name);
    }
    free(set->members);
    *set = (struct sorted_set){0};
}
