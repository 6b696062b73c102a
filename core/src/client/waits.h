/* A wait as the calls of every kind of object make it: waits.c drives it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WAITS_H
#define WAITS_H

#include "guard.h"

/* What is waited for. */
struct wait_kind {
    const char *verb;                                           /* for the words of a failure: "acquire" */
    int (*prepare)(struct call *call, const void *arguments);   /* sets up the operation; with the mutex */
    void (*give_back)(struct redlatch_cancel *cancel);          /* of a grant that nobody wants any more */
};

struct wait {
    struct client *client;
    const struct wait_kind *kind;
    const void *arguments; /* for `prepare` */
    int64_t wait_ms;
};

/* Waits, or goes on with the sliced wait that the cancel object names. `id_out` may be NULL: the operation's id, on OK.
 * Sets the last error. */
int wait_run(const struct wait *wait, struct redlatch_cancel *cancel, int64_t slice_ms, uint64_t *id_out);

#endif
