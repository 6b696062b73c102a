/* The table of kinds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kinds.h"

static const struct kind kinds[] = {
    [REDLATCH_MUTEX] = {"mutex", "redisson_lock__channel:", .member_type = 'm'},
    [REDLATCH_FENCED] = {"fenced", "redisson_lock__channel:", .member_type = 'f'},
    [REDLATCH_FAIR] = {"fair", "redisson_lock__channel:", .queues_on_server = true},
    [REDLATCH_SPIN] = {"spin", "redisson_lock__channel:", .polls = true, .member_type = 'm'},
    [REDLATCH_GROUP] = {"group", "redisson_lock__channel:", .has_values = true, .member_type = 'g'},
    [REDLATCH_PLAIN] = {"plain", "redlatch_lock__channel:", .single = true, .member_type = 'p'},
    [REDLATCH_READ] = {"read", "redisson_rwlock:", .concurrent = true, .member_type = 'r'},
    [REDLATCH_WRITE] = {"write", "redisson_rwlock:", .shares = REDLATCH_READ, .member_type = 'w'},
    [REDLATCH_SEMAPHORE] = {"semaphore", "redisson_sc:", .shared = true},
    [REDLATCH_PERMIT_SEMAPHORE] = {"permit_semaphore", "redisson_sc:", .shared = true},
    [REDLATCH_LATCH] = {"latch", "redisson_countdownlatch__channel__", .always_braced = true},
};

const struct kind *kind_of_number(int number) {
    bool known = number > 0 && number < (int)(sizeof kinds / sizeof kinds[0]) && kinds[number].name;
    return known ? &kinds[number] : NULL;
}

const char *redlatch_kind_name(int number) {
    const struct kind *kind = kind_of_number(number);
    return kind ? kind->name : "unknown";
}
