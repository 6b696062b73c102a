/* Which coverage points and planted faults a kind of lock cannot have.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kind_limits.h"

#include <stddef.h>

#include "kinds.h"
#include "world_common.h"

/* Waiters of a spin lock subscribe to nothing, so a wait queue of a spin lock does not outlive its waiters. A plain
 * lock cannot be re-entered. Waiters of a fair lock queue on the server, subscribe to channels of their own, and are
 * played without a foreign client. */
static const struct {
    uint8_t lock_kind;
    enum cover_point point;
} unreachable[] = {
    {REDLATCH_SPIN, COVER_SUBSCRIBED},
    {REDLATCH_SPIN, COVER_RESUBSCRIBED},
    {REDLATCH_SPIN, COVER_UNSUBSCRIBED},
    {REDLATCH_SPIN, COVER_MESSAGE},
    {REDLATCH_PLAIN, COVER_REENTERED},
    {REDLATCH_PLAIN, COVER_PARTIAL_RELEASE},
    {REDLATCH_PLAIN, COVER_RESOLVE_PARTIAL},
    {REDLATCH_PLAIN, COVER_RESOLVE_REENTER},
    {REDLATCH_PLAIN, COVER_RESOLVE_REENTER_DENIED},
    {REDLATCH_PLAIN, COVER_REFUSED_REENTER},
    {REDLATCH_FAIR, COVER_SUBSCRIBED},
    {REDLATCH_FAIR, COVER_RESUBSCRIBED},
    {REDLATCH_FAIR, COVER_UNSUBSCRIBED},
    {REDLATCH_FAIR, COVER_PHASE_NEW_QUEUED},
    {REDLATCH_FAIR, COVER_PHASE_NEW_PARKED},
    {REDLATCH_FAIR, COVER_PHASE_QUEUED_REQUESTING},
    {REDLATCH_FAIR, COVER_PHASE_QUEUED_PARKED},
    {REDLATCH_FAIR, COVER_PHASE_QUEUED_WAITING},
    {REDLATCH_FAIR, COVER_PHASE_QUEUED_DONE},
    {REDLATCH_FAIR, COVER_HAND_OVER_BOUND},
    {REDLATCH_FAIR, COVER_WAITED_FOR_FOREIGN},
    {REDLATCH_FAIR, COVER_FOREIGN_RELEASED},
    {REDLATCH_FAIR, COVER_FOREIGN_DIED},
    {REDLATCH_PLAIN, COVER_PHASE_QUEUED_WAITING},
    {REDLATCH_SPIN, COVER_PHASE_NEW_PARKED},
};

static const struct {
    uint8_t lock_kind;
    enum planted_fault fault;
} harmless[] = {
    {REDLATCH_SPIN, FAULT_NO_RECHECK_AFTER_SUBSCRIBE},
    {REDLATCH_SPIN, FAULT_NO_RECHECK_AFTER_RESUBSCRIBE},
    {REDLATCH_SPIN, FAULT_MESSAGE_MISSED_WHILE_REQUESTING},
    {REDLATCH_SPIN, FAULT_NEXT_WAITER_SLEEPS}, /* a waiter of a spin lock rechecks by itself */
    {REDLATCH_PLAIN, FAULT_REENTRY_NOT_INTENDED},
    {REDLATCH_PLAIN, FAULT_BACKGROUND_COUNTS_LATE},
    {REDLATCH_FAIR, FAULT_HAND_OVER_UNBOUNDED}, /* the server's queue decides whose turn it is */
    {REDLATCH_FAIR, FAULT_NEXT_WAITER_SLEEPS},  /* the server wakes the waiter */
};

/* Faults that only one kind can have. */
static const struct {
    uint8_t lock_kind;
    enum planted_fault fault;
} peculiar[] = {
    {REDLATCH_SPIN, FAULT_SPINS_SELDOM},
    {REDLATCH_FAIR, FAULT_POSITION_IS_KEPT},
    {REDLATCH_FAIR, FAULT_POSITIONS_NOT_REFRESHED},
    {REDLATCH_READ, FAULT_UPGRADE_WAITS},
    {REDLATCH_READ, FAULT_READERS_OVERTAKE},
    {REDLATCH_READ, FAULT_READERS_WOKEN_ONE_BY_ONE},
};

/* Faults that some kinds cannot have in a failover. */
static const struct {
    uint8_t lock_kind;
    enum planted_fault fault;
} without_failover[] = {
    {REDLATCH_PERMIT_SEMAPHORE, FAULT_UNACKNOWLEDGED_HAND_OVER}, /* permits go back to the server */
    {REDLATCH_FAIR, FAULT_COMMANDS_NOT_RETURNED},                /* rounds take as long as the server's queue */
};

/* Semaphores, latches and composite locks share little code with the other kinds. These are all the faults that they
 * can have outside failovers. */
static const struct {
    uint8_t kind;
    enum planted_fault fault;
} others[] = {
    {REDLATCH_SEMAPHORE, FAULT_NO_COMPENSATION},
    {REDLATCH_SEMAPHORE, FAULT_MESSAGE_MISSED_WHILE_REQUESTING},
    {REDLATCH_SEMAPHORE, FAULT_NEXT_WAITER_SLEEPS},
    {REDLATCH_SEMAPHORE, FAULT_RECORD_OF_LATE_COPY_REUSED},
    {REDLATCH_SEMAPHORE, FAULT_RECORD_WITHOUT_ANSWER_REUSED},
    {REDLATCH_LATCH, FAULT_NO_RECHECK_AFTER_SUBSCRIBE},
    {REDLATCH_PERMIT_SEMAPHORE, FAULT_NO_MARGIN},
    {KIND_MULTI, FAULT_MINORITY_IS_ENOUGH},
    {KIND_MULTI, FAULT_ROUND_KEPT_IN_PART},
    {KIND_MULTI, FAULT_LATE_ROUND_IS_BELIEVED},
    {KIND_MULTI, FAULT_WATCH_IS_FORGOTTEN},
    {KIND_REDLOCK, FAULT_MINORITY_IS_ENOUGH},
    {KIND_REDLOCK, FAULT_ROUND_KEPT_IN_PART},
    {KIND_REDLOCK, FAULT_NO_COMPENSATION},
    {KIND_REDLOCK, FAULT_LATE_ROUND_IS_BELIEVED},
    {KIND_REDLOCK, FAULT_MINORITY_LOSES_ALL},
    {KIND_REDLOCK, FAULT_NO_MARGIN},
    {KIND_REDLOCK, FAULT_DEADLINE_FROM_REPLY},
};

static bool is_composite(uint8_t kind) {
    return kind == KIND_MULTI || kind == KIND_REDLOCK;
}

static bool is_counted(uint8_t kind) {
    return !is_composite(kind) && kind != KINDS_MIXED && kind_of_number(kind)->is_counted;
}

/* Semaphores and latches have nothing to renew or verify. Only taken permits are acknowledged. */
static bool number_can_have(uint8_t kind, enum planted_fault fault) {
    bool of_acknowledgements = fault == FAULT_EARLIER_ACKNOWLEDGEMENT || fault == FAULT_ONE_REPLICA_TOO_FEW ||
                               fault == FAULT_UNACKNOWLEDGED_GRANT_IS_KEPT || fault == FAULT_UNACKNOWLEDGED_IS_LEFT;
    return fault == FAULT_WAITERS_NOT_MOVED || (kind == REDLATCH_SEMAPHORE && of_acknowledgements);
}

bool failover_can_have(uint8_t lock_kind, enum planted_fault fault) {
    if (kind_is_number(lock_kind)) {
        return number_can_have(lock_kind, fault);
    }
    bool permits = lock_kind == REDLATCH_PERMIT_SEMAPHORE;
    if (fault == FAULT_PERMITS_GIVEN_BACK_IN_PART) {
        return permits;
    }
    for (size_t i = 0; i < sizeof without_failover / sizeof without_failover[0]; i++) {
        if (without_failover[i].lock_kind == lock_kind && without_failover[i].fault == fault) {
            return false;
        }
    }
    return fault >= FAULT_NOT_VERIFIED_AFTER_MOVE && fault < FAULT_NAMES_STAY;
}

/* Routes are the same for all kinds, so one kind finds most faults, and soon. Fenced locks have a second key, which a
 * slot that moves key by key may leave behind for a while. */
bool cluster_can_have(uint8_t lock_kind, enum planted_fault fault) {
    if (fault == FAULT_TRYAGAIN_IS_FATAL || fault == FAULT_OLD_NODE_CONFIRMS) {
        return lock_kind == REDLATCH_FENCED;
    }
    if (fault == FAULT_NON_LOCAL_IS_FATAL) { /* of a heartbeat, which a script does not declare */
        return lock_kind == REDLATCH_FAIR;
    }
    return lock_kind == REDLATCH_MUTEX && (fault >= FAULT_NAMES_STAY || fault == FAULT_NOT_VERIFIED_AFTER_MOVE);
}

bool kind_is_number(uint8_t kind) {
    return kind == REDLATCH_SEMAPHORE || kind == REDLATCH_LATCH;
}

bool kind_clusters(uint8_t kind) {
    return kind == REDLATCH_MUTEX || kind == REDLATCH_PLAIN || kind == REDLATCH_FENCED || kind == REDLATCH_FAIR ||
           kind == REDLATCH_READ;
}

bool kind_cannot_reach(uint8_t lock_kind, enum cover_point point) {
    if (point >= COVER_COUNT_GRANTED) {
        return true;
    }
    if (is_counted(lock_kind) || is_composite(lock_kind) || point >= COVER_COUNT_ENDED) {
        bool of_counts = point >= COVER_COUNT_ENDED && point <= COVER_COUNT_UNKNOWN;
        return !(is_composite(lock_kind) ? point >= COVER_COMPOSITE_GRANTED : is_counted(lock_kind) && of_counts);
    }
    if (point >= COVER_FAIR_POSITION && point <= COVER_FAIR_WAKE_CHANNELS && lock_kind != REDLATCH_FAIR) {
        return true;
    }
    for (size_t i = 0; i < sizeof unreachable / sizeof unreachable[0]; i++) {
        if (unreachable[i].lock_kind == lock_kind && unreachable[i].point == point) {
            return true;
        }
    }
    return false;
}

bool kind_cannot_have(uint8_t lock_kind, enum planted_fault fault) {
    if (is_counted(lock_kind) || is_composite(lock_kind)) {
        size_t i = 0;
        while (i < sizeof others / sizeof others[0] && !(others[i].kind == lock_kind && others[i].fault == fault)) {
            i++;
        }
        return i == sizeof others / sizeof others[0];
    }
    if (fault >= FAULT_MINORITY_IS_ENOUGH) {
        return true; /* only composite locks and the failover and cluster simulations have these */
    }
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        if (harmless[i].lock_kind == lock_kind && harmless[i].fault == fault) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof peculiar / sizeof peculiar[0]; i++) {
        if (peculiar[i].fault == fault) {
            return peculiar[i].lock_kind != lock_kind;
        }
    }
    return false;
}
