/* The arithmetic of leases.
 * SPDX-License-Identifier: Apache-2.0 */
#include "lease.h"

#include "routes.h"
#include "unit.h"

static const int64_t sent = 1000 * SECOND;

static struct resource name;

static struct hold renewed_hold(void) {
    struct hold hold = {.resource = &name};
    hold.stage = HOLD_ALIVE;
    hold.count = 1;
    hold.renewed_from = 1;
    hold.max_hold_at = NEVER;
    hold_confirm(&hold, sent, 30000);
    return hold;
}

static void deadline_is_lease_less_margin(void) {
    CHECK_EQ_INT(lease_deadline(sent, 30000), sent + 30 * SECOND - 300 * MILLISECOND - 2 * MILLISECOND);
    CHECK_EQ_INT(lease_deadline(sent, 100), sent + 97 * MILLISECOND);
    CHECK(lease_deadline(sent, 1) < sent); /* a lease within the margin was never safe */
}

static void lease_stays_within_the_bound_on_the_hold(void) {
    CHECK_EQ_INT(lease_within(30000, NEVER, sent), 30000);
    CHECK_EQ_INT(lease_within(30000, sent + 60 * SECOND, sent), 30000);
    CHECK_EQ_INT(lease_within(30000, sent + 5 * SECOND, sent), 5000);
    CHECK_EQ_INT(lease_within(30000, sent + 999, sent), 0);
    CHECK_EQ_INT(lease_within(30000, sent - SECOND, sent), 0);
}

static void the_bound_holds_also_for_a_command_that_was_sent_late(void) {
    struct hold hold = renewed_hold();
    hold.max_hold_at = sent + 25 * SECOND; /* 25 s were left, and requested, when the command was queued */
    hold_confirm(&hold, sent + SECOND, 25000);
    CHECK_EQ_INT(hold.deadline, sent + 25 * SECOND);
    hold_confirm_later(&hold, sent + 2 * SECOND, 60000);
    CHECK_EQ_INT(hold.deadline, sent + 25 * SECOND);
    CHECK_EQ_INT(hold_deadline(&hold, sent, 1000), lease_deadline(sent, 1000));
}

static void a_doubt_is_not_forgotten_for_a_bound(void) {
    struct hold hold = renewed_hold();
    hold.max_hold_at = sent + 10 * SECOND;
    hold_confirm(&hold, sent + 3 * SECOND, 10000); /* the lease would end beyond the bound */
    hold.deadline = sent + 5 * SECOND;             /* an extension to an earlier end may have run */
    hold_doubt(&hold);
    CHECK_EQ_INT(lease_deadline(hold.confirmed_at, hold.lease_ms), hold.deadline);
    hold_confirm_later(&hold, hold.confirmed_at, hold.lease_ms);
    CHECK_EQ_INT(hold.deadline, sent + 5 * SECOND);
}

/* The time of the grant does not matter, nor that a renewal was sent a little ahead of its time. */
static void holds_of_a_slot_are_renewed_together(void) {
    static struct server server;
    struct resource in_slot = {.server = &server};
    const uint16_t slots[] = {0, 1, 8000, SLOT_COUNT - 1};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        in_slot.slot = slots[i];
        int64_t moment = 0;
        for (int64_t later = 0; later < 10 * SECOND; later += 10 * SECOND / 97) {
            struct hold hold = renewed_hold();
            hold.resource = &in_slot;
            hold_confirm(&hold, sent + later, 30000);
            CHECK(hold.renew_at > sent + later);
            CHECK(hold.renew_at <= sent + later + 10 * SECOND + renewal_ahead(30000));
            moment = moment ? moment : hold.renew_at;
            CHECK_EQ_INT((hold.renew_at - moment) % (10 * SECOND), 0);
            int64_t due = hold.renew_at;
            schedule_renewal(&hold, due + 5 * MILLISECOND, 30000);
            CHECK_EQ_INT(hold.renew_at, due + 10 * SECOND);
            schedule_renewal(&hold, due - renewal_ahead(30000), 30000);
            CHECK_EQ_INT(hold.renew_at, due + 10 * SECOND);
        }
    }
}

static void a_grant_is_renewed_after_a_third(void) {
    struct hold hold = renewed_hold();
    CHECK_EQ_INT(hold.renew_at, sent + 10 * SECOND);
    CHECK_EQ_INT(hold.deadline, lease_deadline(sent, 30000));
    CHECK_EQ_INT(hold_next_attention(&hold), sent + 10 * SECOND);
}

static void only_acquires_without_a_lease_renew(void) {
    struct hold hold = renewed_hold();
    hold.renewed_from = 2;
    CHECK(!hold_is_renewed(&hold));
    hold.count = 2;
    CHECK(hold_is_renewed(&hold));
    hold.renewed_from = 0;
    CHECK(!hold_is_renewed(&hold));
    hold.renewed_from = 1;
    hold.stage = HOLD_RELEASING;
    CHECK(!hold_is_renewed(&hold));
}

static void a_nested_acquire_with_a_lease_never_brings_the_deadline_forward(void) {
    struct hold hold = renewed_hold();
    int64_t deadline = hold.deadline;
    hold_confirm_later(&hold, sent + SECOND, 1000);
    CHECK_EQ_INT(hold.deadline, deadline);
    CHECK_EQ_INT(hold.confirmed_at, sent);
    hold_confirm_later(&hold, sent + SECOND, 60000);
    CHECK_EQ_INT(hold.deadline, lease_deadline(sent + SECOND, 60000));
    CHECK_EQ_INT(hold.renew_at, sent + SECOND + 20 * SECOND);
}

static void attention_goes_to_what_is_first(void) {
    struct hold hold = renewed_hold();
    struct operation operation = {0};
    struct command batch = {0};
    hold.claim = &operation;
    hold.claim_by = sent + 5 * SECOND;
    CHECK_EQ_INT(hold_next_attention(&hold), sent + 5 * SECOND);
    hold.claim = NULL;
    hold.batch = &batch; /* a renewal under way is not due again */
    CHECK_EQ_INT(hold_next_attention(&hold), hold.deadline);
    hold.stage = HOLD_GONE;
    CHECK_EQ_INT(hold_next_attention(&hold), NEVER);
}

static void state_follows_the_clock(void) {
    struct hold hold = renewed_hold();
    CHECK_EQ_INT(hold_state_at(&hold, sent + 15 * SECOND), REDLATCH_HELD);
    CHECK_EQ_INT(hold_state_at(&hold, sent + 15 * SECOND + 1), REDLATCH_SUSPECT);
    CHECK_EQ_INT(hold_state_at(&hold, hold.deadline - 1), REDLATCH_SUSPECT);
    CHECK_EQ_INT(hold_state_at(&hold, hold.deadline), REDLATCH_GONE);
    hold.renewed_from = 0; /* a fixed lease is never overdue */
    CHECK_EQ_INT(hold_state_at(&hold, hold.deadline - 1), REDLATCH_HELD);
    hold.stage = HOLD_GONE;
    CHECK_EQ_INT(hold_state_at(&hold, sent), REDLATCH_GONE);
}

int main(void) {
    RUN(deadline_is_lease_less_margin);
    RUN(lease_stays_within_the_bound_on_the_hold);
    RUN(the_bound_holds_also_for_a_command_that_was_sent_late);
    RUN(a_doubt_is_not_forgotten_for_a_bound);
    RUN(holds_of_a_slot_are_renewed_together);
    RUN(a_grant_is_renewed_after_a_third);
    RUN(only_acquires_without_a_lease_renew);
    RUN(a_nested_acquire_with_a_lease_never_brings_the_deadline_forward);
    RUN(attention_goes_to_what_is_first);
    RUN(state_follows_the_clock);
    return unit_done();
}
