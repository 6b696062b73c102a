/* redlatch: several locks at once, and locks on a majority of servers.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of redlatch.h, whose conventions hold here. */
#ifndef REDLATCH_MULTI_H
#define REDLATCH_MULTI_H

#include "redlatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* bindings: begin */

/* --------------------------------------------------------------------------------- several locks, and majorities -- */

/* Makes a handle of a multi lock: it is held while all its members are held.
 *
 * members: 1 to REDLATCH_MEMBERS_MAX mutexes, fenced, spin, plain, read, write and group locks, of any clients. Each
 * name may occur once: one mode of a read-write lock, one group lock of a group. The members may be freed afterwards.
 * options: NULL for the defaults. owner_mode, leases and max_hold_ms are those of the multi lock; `reentrant` and
 * `token_from_time` are those of each member.
 * lock_out: the handle. The caller owns it and frees it with redlatch_lock_free. UNSUPPORTED: confirm_release is 0.
 *
 * All calls on locks work with the handle. On the server each member is held separately, with an owner id of its own,
 * so that single locks and Redisson's multi locks exclude it and are excluded. INVALID: a member is a fair lock. Its
 * waiter has a position in the server queue, and would block the others while it waits for another member.
 *
 * Acquire. One script acquires the members of one client, all or none. With several clients all are asked at once; if
 * one is contended, the others are released, the contended one is waited for, and then the clients are asked one after
 * the other, beginning with that one. Nothing is held during a wait. ALREADY_HELD: the owner holds a member that is not
 * reentrant, such as a plain lock. WOULD_DEADLOCK: the owner holds the read lock of a member that is a write lock.
 *
 * Holds. An owner that holds a member re-enters it. redlatch_lock_hold_status describes the whole: held while all
 * members are, with the smallest hold count and the shortest time, and the token of the first member that has one. If a
 * member is lost, the multi lock is lost: release returns LOST and releases the other members. Events come from the
 * first member's client, until the handle that acquired is freed.
 *
 * Waiting. A multi lock is not in the wait queues of its members. If single locks of this process hand a member over 16
 * times or for 10 ms in a row, the member becomes free for 1 to 3 ms, and the multi lock that has waited longest tries
 * first. So one contended member delays a multi lock by 17 hand-overs, or by 10 ms and one hold, unless another process
 * is faster. There is no such limit with several contended members, or while readers overlap without a gap. A spin lock
 * is rechecked every 0.25 s and after a notification of its release; a plain lock of another library every 0.1 s.
 * Since 0.1. */
REDLATCH_API int redlatch_multi_lock_new(redlatch_lock *const *members, size_t count,
                                         const redlatch_lock_options *options, redlatch_lock **lock_out);

/* Makes a handle of a RedLock: it is held while a majority of its members on independent servers is held.
 *
 * members: 3 to REDLATCH_MEMBERS_MAX locks, each of a client and a server of its own, of the kinds of
 * redlatch_multi_lock_new. Open the clients with options->lazy = 1, or else opening fails while a server is down.
 * allow_few: 1 allows fewer than three members, with which no server may fail; 0.
 * options, lock_out: as of redlatch_multi_lock_new.
 *
 * All members are asked at once. The outcome is decided when a majority has replied or cannot be reached any more. The
 * safe time is that of the majority. A member that has not replied by then has half as long again and 5 ms; then it is
 * released, as are all members of an acquire that failed. The next attempt follows after a random pause. Since 0.1. */
REDLATCH_API int redlatch_redlock_new(redlatch_lock *const *members, size_t count, int32_t allow_few,
                                      const redlatch_lock_options *options, redlatch_lock **lock_out);

/* bindings: end */

#ifdef __cplusplus
}
#endif

#endif /* REDLATCH_MULTI_H */
