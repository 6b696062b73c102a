/* The kinds of locks: what each does in its own way, where the machines ask. A new kind is a row here, rows of scripts in
 * wire.c, and a machine of its own only where no other's will do.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_H
#define KINDS_H

#include "engine.h"
#include "refusal.h"

struct kind {
    const char *name;

    /* The channel of a name is `prefix` and the name, in braces unless it has some itself (wire format 1.2). */
    const char *channel_prefix;

    /* It may be a member of a multi lock: it can be tried without a place in a queue on the server. */
    bool joinable;

    /* An acquire that does not re-enter: its steps. */
    void (*begin)(struct engine *engine, struct operation *operation, int64_t now);
    void (*replied)(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
    void (*abort)(struct engine *engine, struct operation *operation, int status, int64_t now);
    void (*timer)(struct engine *engine, struct operation *operation, int64_t now);

    /* Waiters of a name: a message was heard; one may have been missed. */
    void (*told)(struct engine *engine, struct contest *contest, int64_t now);
    void (*look)(struct engine *engine, struct contest *contest, int64_t now);
};

/* The kind of a number of enum redlatch_kind; NULL if there is none. */
const struct kind *kind_of_number(int number);

/* How an operation is carried out: as the kind of its name, or as a set of names (set.c). */
const struct kind *kind_for(const struct operation *operation);

static inline const struct kind *kind_of(const struct resource *resource) {
    return kind_of_number(resource->kind);
}

#endif
