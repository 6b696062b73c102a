/* Renewals that are confirmed after more than half of the lease: they are counted, and reported by name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"
#include "lease.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;
static const enum pipeline_role BACKGROUND = PIPELINE_BACKGROUND;

/* The reply to a batch of one hold: the server has the hold, and `left_ms` was left of its lease. */
static void answer(int64_t left_ms) {
    rig_integers(BACKGROUND, &left_ms, 1);
}

static void late_renewals_are_counted(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    rig_pass(10 * SECOND);
    rig_send(BACKGROUND);
    rig_pass(6 * SECOND);
    CHECK_EQ_INT(hold_state_at(hold, rig.now), REDLATCH_SUSPECT);
    answer(20000);
    CHECK_EQ_INT(rig.engine.stats.late_renewals, 1);
    CHECK_EQ_INT(hold_state_at(hold, rig.now), REDLATCH_HELD);
    CHECK(engine_first_loss(&rig.engine, LATE_THREADS) == hold);
    CHECK_EQ_INT(hold->late_ms, 16000);
    rig_pass(4 * SECOND); /* due again; of two late renewals that nobody collected, the second is reported */
    rig_send(BACKGROUND);
    rig_pass(9 * SECOND);
    answer(20000);
    CHECK_EQ_INT(rig.engine.stats.late_renewals, 2);
    CHECK_EQ_INT(hold->late_ms, 19000);
    CHECK_EQ_INT(rig_losses(LATE_THREADS, NULL), 1);
    CHECK_EQ_INT(rig_losses(LATE_EVENTS, NULL), 1);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_late_renewal_is_reported_after_the_hold_has_ended(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    rig_pass(10 * SECOND);
    rig_send(BACKGROUND);
    rig_pass(6 * SECOND);
    answer(20000);
    rig_end("a", 1);
    CHECK_EQ_INT(rig_losses(LOSS_THREADS, NULL), 0);
    for (int queue = LATE_EVENTS; queue <= LATE_THREADS; queue++) { /* taken from one queue, it stays in the other */
        CHECK(engine_first_loss(&rig.engine, (enum loss_queue)queue) == hold);
        engine_loss_taken(&rig.engine, (enum loss_queue)queue);
    }
    RIG_CLOSE();
}

static void a_renewal_of_a_lease_that_max_hold_cuts_is_not_reported_as_late(void) {
    rig_open();
    struct call *call = rig_call(OPERATION_ACQUIRE, "a", 1);
    call->operation->max_hold_ms = 31000;
    rig_start(call);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    rig_pass(10 * SECOND);
    rig_send(BACKGROUND);
    answer(20000); /* the renewal asked for the 21 s that max_hold leaves */
    rig_pass(7 * SECOND);
    rig_send(BACKGROUND);
    rig_pass(5 * SECOND);
    answer(9000);
    CHECK_EQ_INT(rig.engine.stats.late_renewals, 1);
    CHECK_EQ_INT(rig_losses(LATE_THREADS, NULL), 0);
    CHECK_EQ_INT(rig_losses(LATE_EVENTS, NULL), 0);
    rig_end("a", 1);
    RIG_CLOSE();
}

int main(void) {
    RUN(late_renewals_are_counted);
    RUN(a_late_renewal_is_reported_after_the_hold_has_ended);
    RUN(a_renewal_of_a_lease_that_max_hold_cuts_is_not_reported_as_late);
    return unit_done();
}
