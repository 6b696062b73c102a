/* The table of kinds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kinds.h"

#include "steps.h"

/* Kinds whose acquires queue in the process, where the foremost talks to the server (mutex.c, queue.c). */
#define STEPS_OF_MUTEX \
    acquire_replied, acquire_abort, acquire_timer, acquire_send, queue_notified, queue_recheck, queue_next
#define QUEUED_IN_PROCESS acquire_begin, STEPS_OF_MUTEX

/* The sides of a read-write lock also look at what their owner holds of the other side (read_write.c). */
#define READ_WRITE_MODE read_write_begin, STEPS_OF_MUTEX

/* Those whose waiters queue on the server, each for itself (fair.c). */
#define QUEUED_ON_SERVER \
    fair_begin, fair_replied, fair_abort, acquire_timer, acquire_send, fair_notified, queue_recheck, fair_next

/* What is acquired is no hold (semaphore.c). */
#define PERMITS_IN_PROCESS \
    acquire_begin, semaphore_replied, semaphore_abort, acquire_timer, semaphore_send, queue_notified, queue_recheck, \
        queue_next

/* Nothing is acquired; waiters watch (watch.c). */
#define WATCHED NULL, NULL, NULL, NULL, NULL, queue_notified, queue_recheck, queue_next

static const struct kind kinds[] = {
    [REDLATCH_MUTEX] = {"mutex", "redisson_lock__channel:", QUEUED_IN_PROCESS, .member_type = 'm'},
    [REDLATCH_FENCED] = {"fenced", "redisson_lock__channel:", QUEUED_IN_PROCESS, .member_type = 'f'},
    [REDLATCH_FAIR] = {"fair", "redisson_lock__channel:", QUEUED_ON_SERVER, .queues_on_server = true},
    [REDLATCH_SPIN] = {"spin", "redisson_lock__channel:", QUEUED_IN_PROCESS, .polls = true, .member_type = 'm'},
    [REDLATCH_GROUP] = {"group", "redisson_lock__channel:", QUEUED_IN_PROCESS, .has_values = true, .member_type = 'g'},
    [REDLATCH_PLAIN] = {"plain", "redlatch_lock__channel:", QUEUED_IN_PROCESS, .single = true, .member_type = 'p'},
    [REDLATCH_READ] = {"read", "redisson_rwlock:", READ_WRITE_MODE, .concurrent = true, .member_type = 'r'},
    [REDLATCH_WRITE] = {"write", "redisson_rwlock:", READ_WRITE_MODE, .shares = REDLATCH_READ, .member_type = 'w'},
    [REDLATCH_SEMAPHORE] = {"semaphore", "redisson_sc:", PERMITS_IN_PROCESS, .shared = true},
    [REDLATCH_PERMIT_SEMAPHORE] = {"permit_semaphore", "redisson_sc:", QUEUED_IN_PROCESS, .shared = true},
    [REDLATCH_LATCH] = {"latch", "redisson_countdownlatch__channel__", WATCHED, .always_braced = true},
};

/* Several names at once, of whatever kinds; each of them keeps its own channel. */
static const struct kind set = {
    .begin = set_acquire_begin, .replied = set_acquire_replied, .abort = set_acquire_abort, .timer = set_acquire_timer};

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
