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

/* A multi lock is a lock that stands for several, its members, which may be of any kind and any client: mutexes,
 * fenced, spin, plain and group locks, either side of read-write locks, non-reentrant ones among them. It is acquired
 * when all of them are, and nothing is held while it waits. On the wire each member is held by itself, with a wire id
 * of its own, so single locks, and Redisson's multi locks, exclude it and are excluded.
 *
 * Fair locks are refused: who waits for one has a place in its queue on the server, and who waits for several would
 * hold up everybody behind it at the head of one queue while it waits for another. Semaphores and latches are no locks:
 * nobody owns them.
 *
 * Members of one client are acquired by one script, all or none, and released by one. With several clients all are
 * asked at once; when one is in the way the others are given back, the one that was in the way is waited for, and then
 * the clients are asked one after the other, beginning with its own.
 *
 * It stands beside the queues of its members, not in them, as it needs all at once. A member that single locks of the
 * same process take in turns is handed over between them at most 16 times, or for 10 ms, in a row; then it is let go
 * for a moment, 1 to 3 ms, in which of this process only multi locks ask for it, whoever waits longest first. So a
 * multi lock of which one member is in such demand waits for 17 turns, or for 10 ms and the turn under way, unless
 * another process is quicker. There is no bound where several members are, since it has to find all of them free at
 * once, nor where readers overlap without a gap while it is to write.
 *
 * Every call on locks works with it. The holds are its members': an owner that holds one of them already re-enters it;
 * redlatch_lock_hold tells of the composite (held when all are, as often and as long as the one that is held least, the
 * token of the first member that has one). A member that is lost makes the whole lost: release says LOST then, and
 * gives back what is left. Losses and asynchronous completions come as events of the first member's client. It takes
 * from its members their names, kinds and what their options say of re-entry and tokens; owner_mode, leases and
 * max_hold_ms are its own. An owner that holds a member which it may not re-enter, as a plain lock is one, gets
 * ALREADY_HELD, and one that reads what it asks to write WOULD_DEADLOCK; who writes a name may read it by a multi lock.
 * The pauses of a spin lock are its own, too: such a member is looked at every 0.25 s, and when a release of it is
 * heard of. A plain lock that another library holds is looked at every 0.1 s.
 *
 * members: 1 to REDLATCH_MEMBERS_MAX locks of single names and of these kinds, each name at most once, so also one side
 * of a read-write lock, and one lock on values of a group; they may be freed afterwards.
 * options: NULL for defaults; `reentrant` and `token_from_time` are the members'.
 * The handle is the caller's, to be freed by redlatch_lock_free. INVALID, BAD_HANDLE, CLOSED, FORKED, NO_MEMORY,
 * SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_multi_lock_new(redlatch_lock *const *members, size_t count,
                                         const redlatch_lock_options *options, redlatch_lock **lock_out);

/* A lock on a majority of independent servers: it is acquired when more than half of its members are. All are asked at
 * once, and it is decided as soon as a majority answered, or can not be reached any more; its safe time is that of the
 * majority. Members that did not answer by then have half as long again, and five milliseconds, before they are given
 * back, as all are that were granted in vain. After that it waits a random time before it tries again.
 *
 * members: locks of single names, each of a client of its own for a server of its own, three at the least: with fewer
 * no server may fail. The clients are to be opened with `lazy`: otherwise opening fails while that server is down.
 * allow_few: 1 allows fewer. All else as redlatch_multi_lock_new. Since 0.1. */
REDLATCH_API int redlatch_redlock_new(redlatch_lock *const *members, size_t count, int32_t allow_few,
                                      const redlatch_lock_options *options, redlatch_lock **lock_out);

/* bindings: end */

#ifdef __cplusplus
}
#endif

#endif /* REDLATCH_MULTI_H */
