/* The functions of the machines for each kind, as the rest of the engine calls them. machines.c fills the table, so
 * that a machine can use the modules below it and be called by them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MACHINE_H
#define MACHINE_H

#include "engine.h"
#include "kinds.h"

struct machine {
    /* Steps of an acquire that does not re-enter, or of a watch. acquire_steps.c has what they share. */
    void (*begin)(struct engine *engine, struct operation *operation, int64_t now);
    void (*send)(struct engine *engine, struct operation *operation, int64_t now); /* requests, in whatever phase */
    void (*result)(struct engine *engine, struct operation *operation, struct command *command,
                   const struct reply *reply, int64_t now); /* a reply that is no error reply */
    void (*abort)(struct engine *engine, struct operation *operation, int status, int64_t now);
    void (*end)(struct engine *engine, struct operation *operation, int status, int64_t now);

    /* Undoes what a request may have acquired. NULL: a request acquires nothing. */
    void (*undo)(struct engine *engine, struct operation *operation, struct command *command);
    bool keeps_id; /* a request is not undone after a transient error: the same id requests again, with its position */

    /* Gives back a grant that was not acknowledged, and its position, before the waiter requests again. NULL: `undo`
     * does. */
    void (*give_back)(struct engine *engine, struct operation *operation, int64_t now);

    /* Called before a pause: lets other waiters of the name go first. NULL: the waiter stays where it is. */
    void (*step_aside)(struct engine *engine, struct operation *operation, int64_t now);

    /* For the waiters of a name: a message was received; a message may have been missed. */
    void (*notified)(struct engine *engine, struct wait_queue *queue, int64_t number, int64_t now);
    void (*recheck)(struct engine *engine, struct wait_queue *queue, int64_t now);

    /* Called after a waiter left the wait queue, if there are others in it. */
    void (*advance)(struct engine *engine, struct wait_queue *queue, int64_t now);
};

/* The functions for each command: `replied` gets its reply, `in_doubt` resolves it after its connection broke
 * (in_doubt.c). */
struct command_handler {
    void (*replied)(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
    void (*in_doubt)(struct engine *engine, struct command *command, enum resolution how, int64_t now);
};

struct machines {
    /* Begins an extension or a release again that waited for a command of its hold. */
    void (*go_on)(struct engine *engine, struct operation *operation, int64_t now);

    struct machine of_set;                /* sets, of names of any kinds */
    struct machine of_watch;              /* watches of names of any kind */
    struct machine of_kind[KIND_NUMBERS]; /* by enum redlatch_kind */
    struct command_handler of_command[COMMAND_KINDS];
};

static inline const struct machine *machine_of(const struct engine *engine, const struct resource *resource) {
    return &engine->machines->of_kind[resource->kind];
}

/* Returns the machine of an acquire or a watch: that of watches, that of sets (set.c), or that of the name's kind. */
static inline const struct machine *machine_for(const struct engine *engine, const struct operation *operation) {
    if (operation->kind == OPERATION_WATCH) {
        return &engine->machines->of_watch;
    }
    return operation->set ? &engine->machines->of_set : machine_of(engine, operation->resource);
}

#endif
