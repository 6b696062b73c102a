/* A fair lock "a" and its waiters on the engine's rig.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FAIR_FIXTURE_H
#define FAIR_FIXTURE_H

#include "engine_fixture.h"

/* The pipeline of the waiters' requests. */
static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

void open_fair(void);

/* Replies to the oldest command of a pipeline that the waiter is queued. `ttl_ms` is what is left of the holder's
 * lease. `head` is the number of the head of the server queue, or "" if the head is of another client. */
void queued_on(enum pipeline_role pipeline, int64_t ttl_ms, const char *head);

/* The same on PIPELINE. */
void queued(int64_t ttl_ms, const char *head);

/* Owner 1 of this process holds "a". Owners 2 to `last` begin to wait for it, and the foremost four are subscribed. The
 * wire number of each is its owner number. */
void queue_up(struct call **waiters, uint64_t last);

/* The same; owner 1 acquires "a" first, without a stated lease. */
void held_with_waiters(struct call **waiters, uint64_t last);

/* All waiters give up, and the holder releases. */
void everybody_leaves(struct call **waiters, uint64_t last);

#endif
