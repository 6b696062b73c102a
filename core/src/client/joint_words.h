/* The words for failed calls on multi locks and RedLocks: of which member, on which server.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JOINT_WORDS_H
#define JOINT_WORDS_H

#include "run.h"

/* Each sets the last error for a failed call and returns the status. */

/* Of members that are all of one client, by one operation. With its mutex. */
int joint_failed_as_set(const struct redlatch_lock *lock, const struct call *call, int64_t wait_ms);

/* Of an acquire over several clients. The mutex of no client is held. `started`: the words are for an event, and the
 * thread that makes them must not wait for a server. */
int joint_acquire_failed(const struct redlatch_lock *lock, const struct run *run, bool started);

/* Of `count` tasks, one for each group, or with as many as there are members for each member. The same. */
int joint_tasks_failed(const struct redlatch_lock *lock, const struct task *tasks, uint32_t count, const char *verb,
                       int status, bool started);

#endif
