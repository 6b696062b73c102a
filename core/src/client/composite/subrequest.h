/* Subrequests: requests of one thread to several clients at once. All are started, then waited for together.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each started subrequest is on its way to its server at once. A slow server does not delay the replies of the
 * others. */
#ifndef SUBREQUEST_H
#define SUBREQUEST_H

#include "composite.h"

struct subrequest {
    struct request request;
    struct client *client;
    struct pipeline_io *reads; /* the pipeline whose reader role it has; else NULL */
    bool active;               /* started and not collected */
    int status;                /* once it is not active */
    int64_t deadline;          /* of a granted acquire: the earliest deadline of its holds */
    uint32_t count;            /* of a granted acquire: the lowest of its holds' counts */
    uint32_t member;           /* of another acquire: the member that was contended */
};

/* What a subrequest is to do, and with which `set`, `resource` or `question`. */
struct subrequest_spec {
    uint8_t kind; /* enum operation_kind */
    const struct name_set *set;
    struct resource *resource;
    uint8_t lock_kind;         /* of `resource` */
    struct question *question; /* of an inspection */
    uint64_t owner;
    int64_t lease_ms;
    int64_t max_hold_ms;
    int64_t wait_ms; /* its timeout; a non-blocking acquire has the client's command timeout */
    bool non_blocking;
    bool named_owner;
    struct redlatch_cancel *cancel;
    struct composite_op *op; /* of an asynchronous subrequest: its composite operation; else NULL */
};

/* Starts a subrequest. If it could not start, it is not active and has its status. The mutex of no client is held. */
void subrequest_start(struct subrequest *subrequest, struct client *client, const struct subrequest_spec *spec);

/* Drives a subrequest until it is done or `until` has come. Returns whether it was collected. */
bool subrequest_drive(struct subrequest *subrequest, int64_t until);

/* Collects a subrequest if it is done, without driving it. Returns whether it was collected. */
bool subrequest_collect(struct subrequest *subrequest);

/* Ends a subrequest that no caller waits for any more. What it left under way goes on, or is undone, in the
 * background. */
void subrequest_abort(struct subrequest *subrequest);

/* Gives up the reader role, if the subrequest has it. The mutex of its client is held. */
void subrequest_stop_reading(struct subrequest *subrequest, int64_t now);

#endif
