/* What some kinds of locks do not have.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim_kinds.h"

#include <stddef.h>

#include "redlatch.h"

/* A spin lock's waiters listen to nothing; a plain lock has one level. */
static const struct {
    uint8_t lock_kind;
    enum cover_point point;
} unreachable[] = {
    {REDLATCH_SPIN, COVER_SUBSCRIBED},     {REDLATCH_SPIN, COVER_RESUBSCRIBED},
    {REDLATCH_SPIN, COVER_UNSUBSCRIBED},   {REDLATCH_SPIN, COVER_MESSAGE},
    {REDLATCH_PLAIN, COVER_REENTERED},     {REDLATCH_PLAIN, COVER_PARTIAL_RELEASE},
    {REDLATCH_PLAIN, COVER_SETTLE_PARTIAL}, {REDLATCH_PLAIN, COVER_SETTLE_REENTER},
    {REDLATCH_PLAIN, COVER_SETTLE_REENTER_DENIED}, {REDLATCH_PLAIN, COVER_REFUSED_REENTER},
};

static const struct {
    uint8_t lock_kind;
    enum planted_fault fault;
} harmless[] = {
    {REDLATCH_SPIN, FAULT_NO_RECHECK_AFTER_SUBSCRIBE},
    {REDLATCH_SPIN, FAULT_NO_RECHECK_AFTER_RESUBSCRIBE},
    {REDLATCH_SPIN, FAULT_MESSAGE_MISSED_WHILE_ASKING},
    {REDLATCH_PLAIN, FAULT_REENTRY_NOT_INTENDED},
};

bool kind_lacks_point(uint8_t lock_kind, enum cover_point point) {
    for (size_t i = 0; i < sizeof unreachable / sizeof unreachable[0]; i++) {
        if (unreachable[i].lock_kind == lock_kind && unreachable[i].point == point) {
            return true;
        }
    }
    return false;
}

bool kind_lacks_fault(uint8_t lock_kind, enum planted_fault fault) {
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        if (harmless[i].lock_kind == lock_kind && harmless[i].fault == fault) {
            return true;
        }
    }
    return lock_kind != REDLATCH_SPIN && fault == FAULT_SPINS_SELDOM;
}
