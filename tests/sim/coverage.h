/* Counts of what a run has reached: one for each fault, transition, resolution, error reply and outcome. A full run in
 * which a count stayed at zero has not tested what it claims to test.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COVERAGE_H
#define COVERAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The name of the fault, and the words that are printed for it. */
#define NEMESIS_KINDS(X) \
    X(NEMESIS_RESET, "connection reset, both sides") \
    X(NEMESIS_SWALLOW, "replies swallowed, then cut") \
    X(NEMESIS_LOSE_REQUESTS, "requests lost, then cut") \
    X(NEMESIS_HALF_OPEN, "connection dead, client not told") \
    X(NEMESIS_GHOST, "client cut off, requests still on their way") \
    X(NEMESIS_STALL, "connection stalled") \
    X(NEMESIS_REFUSE_CONNECT, "connects refused") \
    X(NEMESIS_HANG_CONNECT, "connects hang") \
    X(NEMESIS_PAUSE_CLIENT, "client paused") \
    X(NEMESIS_PAUSE_CLIENT_LONG, "client paused beyond its leases") \
    X(NEMESIS_PAUSE_SERVER, "server paused") \
    X(NEMESIS_RESTART_EMPTY, "server restarted without data") \
    X(NEMESIS_RESTART_FULL, "server restarted with all data") \
    X(NEMESIS_RESTART_SNAPSHOT, "server restarted from a snapshot") \
    X(NEMESIS_SCRIPT_FLUSH, "script flush") \
    X(NEMESIS_FLUSHALL, "flushall") \
    X(NEMESIS_DELETE, "key deleted by an operator") \
    X(NEMESIS_WRONG_TYPE, "key replaced by another type") \
    X(NEMESIS_LOADING, "LOADING for a while") \
    X(NEMESIS_BUSY, "BUSY for a while") \
    X(NEMESIS_OUT_OF_MEMORY, "OOM at the first write for a while") \
    X(NEMESIS_MISCONF, "MISCONF at the first write for a while") \
    X(NEMESIS_READ_ONLY, "READONLY for a while") \
    X(NEMESIS_ACL_IN_SCRIPT, "publish forbidden for a while") \
    X(NEMESIS_CLOCK_FORWARD, "server clock set forward") \
    X(NEMESIS_CLOCK_BACK, "server clock set back") \
    X(NEMESIS_DUPLICATE, "commands executed twice") \
    X(NEMESIS_LATE_RENEWAL, "renewals executed again, late") \
    X(NEMESIS_IDLE_END, "unused connection ended, client looks late") \
    X(NEMESIS_SLOW, "slow network for a while")

#define OTHER_POINTS(X) \
    X(COVER_KILL_DENIED_WORLD, "seed: KILL denied") \
    X(COVER_SUBSCRIBE_DENIED_WORLD, "seed: subscriptions denied") \
    X(COVER_CALM_WORLD, "seed: no fault at all") \
    X(COVER_DRIFT_WORLD, "seed: clocks drift") \
    X(COVER_GHOST_EXECUTED, "a ghost was executed") \
    X(COVER_GHOST_KILLED, "a ghost was killed") \
    X(COVER_DEAD_PEER, "connection given up for owing a reply") \
    X(COVER_CONNECT_REFUSED, "connect refused") \
    X(COVER_CONNECT_TIMED_OUT, "connect timed out") \
    X(COVER_SETUP_BROKEN, "connection lost during its set-up") \
    X(COVER_SUBSCRIBED, "subscribed") \
    X(COVER_RESUBSCRIBED, "subscribed again after a cut") \
    X(COVER_UNSUBSCRIBED, "unsubscribed") \
    X(COVER_MESSAGE, "message heard") \
    X(COVER_FAIR_POSITION, "fair: place taken") \
    X(COVER_FAIR_HEAD_TOOK, "fair: head took the lock") \
    X(COVER_FAIR_HEAD_HANDED, "fair: head was handed the lock") \
    X(COVER_FAIR_LEFT, "fair: place given up") \
    X(COVER_FAIR_DEAD_HEAD, "fair: head taken off") \
    X(COVER_FAIR_WAKE_CHANNELS, "fair: waiter's own channel") \
    X(COVER_PHASE_NEW_REQUESTING, "phase new -> asking") \
    X(COVER_PHASE_NEW_QUEUED, "phase new -> queued") \
    X(COVER_PHASE_NEW_PARKED, "phase new -> parked (yielding)") \
    X(COVER_PHASE_NEW_WAITING, "phase new -> waiting") \
    X(COVER_PHASE_NEW_DONE, "phase new -> done") \
    X(COVER_PHASE_QUEUED_REQUESTING, "phase queued -> asking") \
    X(COVER_PHASE_QUEUED_PARKED, "phase queued -> parked") \
    X(COVER_PHASE_QUEUED_WAITING, "phase queued -> asking or waiting for a hold") \
    X(COVER_PHASE_QUEUED_DONE, "phase queued -> done") \
    X(COVER_PHASE_REQUESTING_PARKED, "phase asking -> parked") \
    X(COVER_PHASE_REQUESTING_PAUSED, "phase asking -> paused") \
    X(COVER_PHASE_REQUESTING_DONE, "phase asking -> done") \
    X(COVER_PHASE_PARKED_REQUESTING, "phase parked -> asking") \
    X(COVER_PHASE_PARKED_HANDED, "phase parked -> handed") \
    X(COVER_PHASE_PARKED_DONE, "phase parked -> done") \
    X(COVER_PHASE_PAUSED_REQUESTING, "phase paused -> asking") \
    X(COVER_PHASE_PAUSED_DONE, "phase paused -> done") \
    X(COVER_PHASE_HANDED_REQUESTING, "phase handed -> asking") \
    X(COVER_PHASE_HANDED_DONE, "phase handed -> done") \
    X(COVER_PHASE_WAITING_REQUESTING, "phase waiting -> asking") \
    X(COVER_PHASE_WAITING_DONE, "phase waiting -> done") \
    X(COVER_RESOLVE_ABANDONED, "settled: abandoned command") \
    X(COVER_RESOLVE_ABANDONED_DENIED, "settled: abandoned command, KILL denied") \
    X(COVER_RESOLVE_ACQUIRE, "settled: acquire") \
    X(COVER_RESOLVE_ACQUIRE_DENIED, "settled: acquire, KILL denied") \
    X(COVER_RESOLVE_UNDO, "settled: undo") \
    X(COVER_RESOLVE_UNDO_DENIED, "settled: undo, KILL denied") \
    X(COVER_RESOLVE_REENTER, "settled: re-entry") \
    X(COVER_RESOLVE_REENTER_DENIED, "settled: re-entry, KILL denied") \
    X(COVER_RESOLVE_RELEASE, "settled: release") \
    X(COVER_RESOLVE_RELEASE_DENIED, "settled: release, KILL denied") \
    X(COVER_RESOLVE_PARTIAL, "settled: partial release") \
    X(COVER_RESOLVE_EXTEND, "settled: extend") \
    X(COVER_RESOLVE_EXTEND_DENIED, "settled: extend, KILL denied") \
    X(COVER_RESOLVE_MOVE, "settled: move to a new id") \
    X(COVER_RESOLVE_HAND_OVER, "settled: hand-over") \
    X(COVER_RESOLVE_HAND_OVER_DENIED, "settled: hand-over, KILL denied") \
    X(COVER_RESOLVE_HAND_OVER_LEFT, "settled: hand-over, nobody waits") \
    X(COVER_RESOLVE_FORCE, "settled: force release") \
    X(COVER_RESOLVE_QUERY, "settled: query") \
    X(COVER_RESOLVE_RENEWAL, "settled: renewal") \
    X(COVER_RESOLVED_BY_KILL, "pipeline ready: old connection killed") \
    X(COVER_RESOLVED_BY_RESTART, "pipeline ready: server restarted") \
    X(COVER_RESOLUTION_DENIED, "pipeline ready: KILL denied") \
    X(COVER_REFUSED_ACQUIRE, "refused: acquire") \
    X(COVER_REFUSED_REENTER, "refused: re-entry") \
    X(COVER_REFUSED_RELEASE, "refused: release") \
    X(COVER_REFUSED_EXTEND, "refused: extend") \
    X(COVER_REFUSED_HAND_OVER, "refused: hand-over") \
    X(COVER_REFUSED_RENEWAL, "refused: renewal") \
    X(COVER_NOSCRIPT, "NOSCRIPT") \
    X(COVER_HAND_OVER_GRANTED, "hand-over: granted") \
    X(COVER_HAND_OVER_NOTHING, "hand-over: found nothing") \
    X(COVER_HAND_OVER_GIVEN_UP, "hand-over: its waiter gave up") \
    X(COVER_HAND_OVER_BOUND, "hand-over: run of 16 ended") \
    X(COVER_LOST_EXPIRED, "lost: expired") \
    X(COVER_LOST_MISSING, "lost: missing") \
    X(COVER_LOST_MAX_HOLD, "lost: max_hold") \
    X(COVER_LOST_ABANDONED, "lost: owner ended") \
    X(COVER_LATE_GRANT, "grant older than its lease") \
    X(COVER_UNCLAIMED, "asynchronous grant not claimed") \
    X(COVER_CLAIMED, "asynchronous grant claimed") \
    X(COVER_CANCELLED, "wait cancelled") \
    X(COVER_TIMEOUT, "wait timed out, held by others") \
    X(COVER_UNREACHABLE, "failed: unreachable") \
    X(COVER_NO_REPLY, "failed: no reply") \
    X(COVER_ERROR_REPLY_REPORTED, "failed: server refused") \
    X(COVER_NOT_OWNED, "release or extend: not owned") \
    X(COVER_RELEASE_LOST, "release: lost") \
    X(COVER_UNCONFIRMED, "unconfirmed release") \
    X(COVER_UNCONFIRMED_FAILED, "unconfirmed release: failed") \
    X(COVER_RELEASE_RESOLVED, "release: resent, found nothing, still a success") \
    X(COVER_REENTERED, "re-entered") \
    X(COVER_PARTIAL_RELEASE, "partial release") \
    X(COVER_EXTEND_LONGER, "extended to later") \
    X(COVER_EXTEND_SHORTER, "extended to sooner") \
    X(COVER_FORCED, "force release of a held lock") \
    X(COVER_QUERIED, "queried") \
    X(COVER_RENEWED, "renewal confirmed") \
    X(COVER_OWNER_ENDED, "owner ended while holding") \
    X(COVER_FOREIGN_RELEASED, "foreign client released") \
    X(COVER_FOREIGN_DIED, "foreign client died holding") \
    X(COVER_WAITED_FOR_FOREIGN, "waited for a foreign client") \
    X(COVER_COUNT_ENDED, "count: acquired, released or opened") \
    X(COVER_COUNT_TIMED_OUT, "count: waited in vain") \
    X(COVER_COUNT_UNKNOWN, "count: no reply") \
    X(COVER_COMPOSITE_GRANTED, "several servers: granted") \
    X(COVER_COMPOSITE_LOST, "several servers: loss reported") \
    X(COVER_COMPOSITE_NO_SERVER, "several servers: too few could be asked") \
    X(COVER_COUNT_GRANTED, "failover: permits were acquired, or a latch was set") \
    X(COVER_CHANGE_LOST, "failover: a change of a count was not replicated") \
    X(COVER_NOT_REPLICATED, "failover: too few replicas acknowledged") \
    X(COVER_FAILOVER, "failover: begun") \
    X(COVER_TWO_MASTERS, "failover: two masters") \
    X(COVER_GRANT_LOST, "failover: a hold was not replicated") \
    X(COVER_LEASE_LOST, "failover: a longer lease was not replicated") \
    X(COVER_LOSS_FOUND, "failover: a hold was found missing") \
    X(COVER_SLOT_MOVED, "cluster: a slot moves") \
    X(COVER_NODE_REPLACED, "cluster: a master is replaced") \
    X(COVER_PARTITION, "cluster: a client and a node hear nothing of each other") \
    X(COVER_MOVED, "cluster: MOVED") \
    X(COVER_ASK, "cluster: ASK") \
    X(COVER_TRYAGAIN, "cluster: TRYAGAIN") \
    X(COVER_CLUSTERDOWN, "cluster: CLUSTERDOWN") \
    X(COVER_STALE_TOPOLOGY, "cluster: a topology that is behind") \
    X(COVER_CLUSTER_LOST, "cluster: a replica lacks a hold, or its lease")

#define COVER_MEMBER(name, words) name,
enum cover_point { NEMESIS_KINDS(COVER_MEMBER) OTHER_POINTS(COVER_MEMBER) COVER_COUNT };
enum { NEMESIS_COUNT = NEMESIS_SLOW + 1 };

struct coverage {
    uint64_t counts[COVER_COUNT];
};

const char *cover_words(enum cover_point point);
void coverage_add(struct coverage *total, const struct coverage *one);

/* Prints a line for each point from `first` to before `end`. If that range is empty, prints a line for each point that
 * locks of this kind can reach. Returns how many of these points are zero although a run of `seeds` seeds should reach
 * them. The rarest point but COVER_RESOLVE_MOVE is reached once in a hundred seeds. */
int coverage_print(const struct coverage *coverage, uint8_t lock_kind, enum cover_point first, enum cover_point end,
                   uint64_t seeds, FILE *file);

#endif
