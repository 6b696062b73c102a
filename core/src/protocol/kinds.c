/* The table of kinds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kinds.h"

#include "steps.h"

/* Kinds whose acquires queue in the process, where the foremost talks to the server (mutex.c, queue.c). */
#define QUEUED_IN_PROCESS acquire_begin, acquire_replied, acquire_abort, acquire_timer, queue_told, queue_look

static const struct kind kinds[] = {
    [REDLATCH_MUTEX] = {"mutex", "redisson_lock__channel:", true, QUEUED_IN_PROCESS},
    [REDLATCH_FENCED] = {"fenced", "redisson_lock__channel:", true, QUEUED_IN_PROCESS},
};

/* Several names at once, of whatever kinds; each of them keeps its own channel. */
static const struct kind set = {
    NULL, NULL, false, set_acquire_begin, set_acquire_replied, set_acquire_abort, set_acquire_timer, NULL, NULL};

const struct kind *kind_of_number(int number) {
    bool known = number > 0 && number < (int)(sizeof kinds / sizeof kinds[0]) && kinds[number].name;
    return known ? &kinds[number] : NULL;
}

const struct kind *kind_for(const struct operation *operation) {
    return operation->set ? &set : kind_of(operation->resource);
}

const char *redlatch_kind_name(int number) {
    const struct kind *kind = kind_of_number(number);
    return kind ? kind->name : "unknown";
}
