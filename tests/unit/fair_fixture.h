/* A fair lock "a" and its waiters on the engine's rig.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FAIR_FIXTURE_H
#define FAIR_FIXTURE_H

#include "engine_fixture.h"

/* The pipeline of the waiters' asks. */
static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

void open_fair(void);

/* Answers the oldest command of a pipeline: queued, for so long; the number of the head is "" if that is of another
 * client. */
void queued_on(enum pipeline_role pipeline, int64_t ttl_ms, const char *head);

/* The same of the pipeline of asks. */
void queued(int64_t ttl_ms, const char *head);

/* Owner 1 of this process holds "a"; owners 2 to `last` wait for it, the foremost four subscribed. Numbers are the
 * owners'. */
void held_with_waiters(struct call **waiters, uint64_t last);

/* All waiters give up, and the holder releases. */
void everybody_leaves(struct call **waiters, uint64_t last);

#endif
