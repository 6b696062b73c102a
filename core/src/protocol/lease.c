/* Leases: validity counted from the moment of sending, renewal after a third.
 * SPDX-License-Identifier: Apache-2.0 */
#include "lease.h"

#include "planted.h"
#include "routes.h"

int64_t lease_deadline(int64_t sent_at, int64_t lease_ms) {
    int64_t lease = lease_ms * MILLISECOND;
    if (PLANTED(FAULT_NO_MARGIN)) {
        return sent_at + lease + 20 * MILLISECOND;
    }
    return sent_at + lease - lease / 100 - 2 * MILLISECOND;
}

int64_t lease_within(int64_t lease_ms, int64_t max_hold_at, int64_t now) {
    if (max_hold_at == NEVER) {
        return lease_ms;
    }
    int64_t left_ms = (max_hold_at - now) / MILLISECOND;
    return left_ms < 1 ? 0 : left_ms < lease_ms ? left_ms : lease_ms;
}

int64_t hold_deadline(const struct hold *hold, int64_t sent_at, int64_t lease_ms) {
    int64_t deadline = lease_deadline(sent_at, lease_ms);
    return deadline < hold->max_hold_at ? deadline : hold->max_hold_at;
}

bool hold_is_renewed(const struct hold *hold) {
    return hold->stage == HOLD_ALIVE && hold->renewed_from != 0 && hold->renewed_from <= hold->count;
}

int64_t renewal_ahead(int64_t lease_ms) {
    return lease_ms * MILLISECOND / 100;
}

/* In a cluster the keys of a script are in one slot. So all holds of a slot are due at the same moment of each third of
 * a lease, and one script renews many of them. The first third of a hold may be shorter for that. A hold that is
 * renewed a little before the moment (renewal_ahead) is next due at the moment after it. */
static int64_t at_moment_of_slot(int64_t at, uint16_t slot, int64_t lease_ms) {
    int64_t period = lease_ms * MILLISECOND / 3;
    int64_t latest = at + renewal_ahead(lease_ms);
    return latest - (latest - period / SLOT_COUNT * slot) % period;
}

void schedule_renewal(struct hold *hold, int64_t sent_at, int64_t lease_ms) {
    int64_t at = sent_at + lease_ms * MILLISECOND / 3;
    if (hold->resource->server) {
        at = at_moment_of_slot(at, hold->resource->slot, lease_ms);
    }
    hold->renew_at = hold_is_renewed(hold) ? at : NEVER;
}

void hold_confirm(struct hold *hold, int64_t sent_at, int64_t lease_ms) {
    hold->confirmed_at = sent_at;
    hold->lease_ms = lease_ms;
    hold->deadline = hold_deadline(hold, sent_at, lease_ms);
    schedule_renewal(hold, sent_at, lease_ms);
}

void hold_confirm_later(struct hold *hold, int64_t sent_at, int64_t lease_ms) {
    if (hold->stage != HOLD_ALIVE) {
        return; /* a lost hold stays lost */
    }
    if (hold_deadline(hold, sent_at, lease_ms) > hold->deadline) {
        hold_confirm(hold, sent_at, lease_ms);
    } else {
        schedule_renewal(hold, hold->confirmed_at, hold->lease_ms);
    }
}

void hold_doubt(struct hold *hold) {
    int64_t believed = lease_deadline(hold->confirmed_at, hold->lease_ms);
    if (believed > hold->deadline) {
        hold->confirmed_at -= believed - hold->deadline;
    }
}

int64_t hold_next_attention(const struct hold *hold) {
    if (hold->stage != HOLD_ALIVE) {
        return NEVER;
    }
    int64_t at = hold->deadline;
    if (!hold->batch && hold->renew_at < at) {
        at = hold->renew_at;
    }
    if (hold->claim && hold->claim_by < at) {
        at = hold->claim_by;
    }
    if (hold->deferred_releases > 0 && !hold->busy && hold->release_again_at < at) {
        at = hold->release_again_at;
    }
    return at;
}

int hold_state_at(const struct hold *hold, int64_t now) {
    if (hold->stage == HOLD_GONE || now >= hold->deadline) {
        return REDLATCH_GONE;
    }
    bool overdue = hold_is_renewed(hold) && now - hold->confirmed_at > hold->lease_ms * MILLISECOND / 2;
    return overdue ? REDLATCH_SUSPECT : REDLATCH_HELD;
}
