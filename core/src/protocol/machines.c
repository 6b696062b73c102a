/* Which machines serve which kind and which command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "machines.h"

#include "acquire_steps.h"
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

/* Waiters queue in the process, and the foremost talks to the server (queue.c). */
#define LOCAL_QUEUE .notified = queue_notified, .recheck = queue_recheck, .advance = queue_next

/* A lock with such waiters (mutex.c). The modes of a read-write lock first check what their owner holds in the other
 * mode (read_write.c). */
#define MUTEX_STEPS \
    .send = acquire_send, .result = acquire_result, .abort = acquire_abort, .end = acquire_end, .undo = acquire_undo
#define QUEUED_IN_PROCESS {.begin = acquire_begin, MUTEX_STEPS, LOCAL_QUEUE}
#define READ_WRITE_MODE {.begin = read_write_begin, MUTEX_STEPS, LOCAL_QUEUE}

/* A lock whose waiters queue on the server, each with a position of its own (fair.c). */
#define QUEUED_ON_SERVER \
    {.begin = fair_begin, \
     .send = acquire_send, \
     .result = fair_result, \
     .abort = acquire_abort, \
     .end = fair_end, \
     .undo = fair_undo, \
     .keeps_id = true, \
     .give_back = fair_give_back, \
     .notified = fair_notified, \
     .recheck = queue_recheck, \
     .advance = fair_next}

/* Permits that nobody owns: a grant is no hold (semaphore_permits.c). */
#define PERMITS_IN_PROCESS \
    {.begin = acquire_begin, \
     .send = semaphore_send, \
     .result = semaphore_result, \
     .abort = acquire_abort, \
     .end = acquire_end, \
     .undo = undo_taken, \
     LOCAL_QUEUE}

/* A count without acquires: its waiters watch it (watch.c). */
#define WATCHED {LOCAL_QUEUE}

static void go_on(struct engine *engine, struct operation *operation, int64_t now) {
    if (operation->kind == OPERATION_EXTEND) {
        hold_extend(engine, operation, now);
    } else if (operation->set) {
        set_release(engine, operation, now);
    } else {
        hold_release(engine, operation, now);
    }
}

const struct machines machines = {
    .go_on = go_on,
    .of_set = {.begin = set_acquire_begin,
               .send = set_acquire_begin,
               .result = set_result,
               .abort = set_acquire_abort,
               .end = set_end,
               .undo = set_undo,
               .step_aside = set_step_aside},
    .of_watch =
        {.begin = watch_begin, .send = watch_send, .result = watch_result, .abort = acquire_abort, .end = watch_end},
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
