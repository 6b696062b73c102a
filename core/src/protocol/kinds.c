/* The table of kinds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kinds.h"

#define LOCK_CHANNEL "redisson_lock__channel:"
#define READ_WRITE_CHANNEL "redisson_rwlock:"
#define SEMAPHORE_CHANNEL "redisson_sc:"

static const struct kind kinds[KIND_NUMBERS] = {
#define KIND(constant, its_name, article, stored, machine, ...) \
    [REDLATCH_##constant] = {.name = its_name, .with_article = article, .storage = STORAGE_##stored, __VA_ARGS__},
#include "kinds.def"
};

/* A constant of the header without a row in kinds.def is a missing case of this switch, which does not compile. */
const struct kind *kind_of_number(int number) {
    switch ((enum redlatch_kind)number) {
#define KIND(constant, ...) case REDLATCH_##constant:
#include "kinds.def"
        return &kinds[number];
    }
    return NULL;
}

const char *redlatch_kind_name(int number) {
    const struct kind *kind = kind_of_number(number);
    return kind ? kind->name : "unknown";
}
