/* Which machines serve which kind and which command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "machines.h"

#include "change.h"
#include "fair.h"
#include "hand_over.h"
#include "hold.h"
#include "in_doubt.h"
#include "mutex.h"
#include "queue.h"
#include "read_write.h"
#include "refresh.h"
#include "renewal.h"
#include "semaphore_permits.h"
#include "set.h"
#include "set_release.h"
#include "single_command.h"
#include "watch.h"

/* Kinds whose acquires queue in the process, where the foremost talks to the server (mutex.c, queue.c). */
#define STEPS_OF_MUTEX \
    acquire_replied, acquire_abort, acquire_timer, acquire_send, queue_notified, queue_recheck, queue_next
#define QUEUED_IN_PROCESS {acquire_begin, STEPS_OF_MUTEX}

/* The sides of a read-write lock also look at what their owner holds of the other side (read_write.c). */
#define READ_WRITE_MODE {read_write_begin, STEPS_OF_MUTEX}

/* Those whose waiters queue on the server, each for itself (fair.c). */
#define QUEUED_ON_SERVER \
    {fair_begin, fair_replied, fair_abort, acquire_timer, acquire_send, fair_notified, queue_recheck, fair_next}

/* What is acquired is no hold (semaphore_permits.c). */
#define PERMITS_IN_PROCESS \
    {acquire_begin,  semaphore_replied, semaphore_abort, acquire_timer, \
     semaphore_send, queue_notified,    queue_recheck,   queue_next}

/* Nothing is acquired; waiters watch (watch.c). */
#define WATCHED {NULL, NULL, NULL, NULL, NULL, queue_notified, queue_recheck, queue_next}

static void go_on(struct engine *engine, struct operation *operation, int64_t now) {
    if (operation->kind == OPERATION_EXTEND) {
        hold_extend(engine, operation, now);
    } else if (operation->set) {
        set_release(engine, operation, now);
    } else {
        hold_release(engine, operation, now);
    }
}

static void acquirer_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    machine_of(engine, command->resource)->replied(engine, command, reply, now);
}

const struct machines machines = {
    .go_on = go_on,
    .of_set = {.begin = set_acquire_begin,
               .replied = set_acquire_replied,
               .abort = set_acquire_abort,
               .timer = set_acquire_timer},
    .of_kind =
        {
#define KIND(constant, name, article, storage, machine, ...) [REDLATCH_##constant] = machine,
#include "kinds.def"
        },
    .of_command =
        {
#define COMMAND(constant, script, keys, arguments, replied, in_doubt, retry) [COMMAND_##constant] = {replied, in_doubt},
#include "commands.def"
        },
};
