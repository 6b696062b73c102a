/* What the machines do for each kind, as the rest of the engine calls it. The table is set from above (machines.c), so
 * that machines may use what is below them and be called from there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MACHINE_H
#define MACHINE_H

#include "engine.h"
#include "kinds.h"

struct machine {
    /* Steps of an acquire that does not re-enter, or of a watch; what they share is in acquire_steps.c. */
    void (*begin)(struct engine *engine, struct operation *operation, int64_t now);
    void (*send)(struct engine *engine, struct operation *operation, int64_t now); /* requests, parked or not */
    void (*result)(struct engine *engine, struct operation *operation, struct command *command,
                   const struct reply *reply, int64_t now); /* a reply that is no error */
    void (*abort)(struct engine *engine, struct operation *operation, int status, int64_t now);
    void (*end)(struct engine *engine, struct operation *operation, int status, int64_t now);

    /* Gives back what a request may have brought. NULL: it brings nothing. */
    void (*undo)(struct engine *engine, struct operation *operation, struct command *command);
    bool keeps_id; /* is not undone after a transient error: the same id requests again, and has its position */

    /* Gives back a grant that was not acknowledged, with its position, before it requests again. NULL: `undo` does. */
    void (*give_back)(struct engine *engine, struct operation *operation, int64_t now);

    /* Lets others go first before a pause. NULL: it stays where it is. */
    void (*step_aside)(struct engine *engine, struct operation *operation, int64_t now);

    /* Waiters of a name: a message was heard; one may have been missed. */
    void (*notified)(struct engine *engine, struct wait_queue *queue, int64_t number, int64_t now);
    void (*recheck)(struct engine *engine, struct wait_queue *queue, int64_t now);

    /* Somebody left the local queue, and others are in it. */
    void (*advance)(struct engine *engine, struct wait_queue *queue, int64_t now);
};

/* The same for each command: its reply, and the end of its connection before the reply (in_doubt.c). */
struct command_handler {
    void (*replied)(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
    void (*in_doubt)(struct engine *engine, struct command *command, enum resolution how, int64_t now);
};

struct machines {
    /* An extension or a release that waited for a command of its hold begins again. */
    void (*go_on)(struct engine *engine, struct operation *operation, int64_t now);

    struct machine of_set;   /* several names at once, of whatever kinds; each of them keeps its own channel */
    struct machine of_watch; /* of a name of whatever kind */
    struct machine of_kind[KIND_NUMBERS]; /* by enum redlatch_kind */
    struct command_handler of_command[COMMAND_KINDS];
};

static inline const struct machine *machine_of(const struct engine *engine, const struct resource *resource) {
    return &engine->machines->of_kind[resource->kind];
}

/* How an acquire or a watch is carried out: as the kind of its name, as a set of names (set.c), or as any watch. */
static inline const struct machine *machine_for(const struct engine *engine, const struct operation *operation) {
    if (operation->kind == OPERATION_WATCH) {
        return &engine->machines->of_watch;
    }
    return operation->set ? &engine->machines->of_set : machine_of(engine, operation->resource);
}

#endif
