/* Sets whose owner's own holds are still busy: with a release, an extension.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

static const enum lane_number LANE = LANE_CALLERS;

/* Nobody else holds it: whoever believed that would wait for a release that is his own to make. */
static void one_that_waited_for_its_own_hold_in_vain_met_no_server(void) {
    rig_open();
    rig_grant("b", 1);
    rig_extend("b", 1, 60000);
    struct call *call = rig_acquire_all("ab", 1);
    CHECK_EQ_INT(call->operation->phase, PHASE_WAITING);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_UNREACHABLE);
    rig_send(LANE);
    rig_integer(LANE, 1);
    rig_end("b", 1);
    RIG_CLOSE();
}

static void levels_that_are_being_released_do_not_count(void) {
    rig_open();
    struct hold *single = rig_grant("b", 1);
    rig_acquire_all("ab", 1);
    rig_send(LANE);
    rig_granted(LANE);
    CHECK_EQ_INT(hold_levels_left(single), 2);
    struct call *end = rig_release_all("ab", 1);
    rig_send(LANE);
    CHECK_EQ_INT(hold_levels_left(single), 1);
    struct call *next = rig_release_all("b", 1);
    rig_abort(next, REDLATCH_TIMEOUT); /* goes on in the background, behind the other */
    CHECK_EQ_INT(hold_levels_left(single), 0);
    rig_integers(LANE, (const int64_t[]){1, 1}, 2);
    CHECK_EQ_INT(end->status, REDLATCH_OK);
    rig_send(LANE);
    rig_integer(LANE, 1);
    RIG_CLOSE();
}

static void a_level_given_back_in_the_background_goes_with_its_refusal(void) {
    rig_open();
    struct hold *single = rig_grant_for("b", 1, 1000);
    struct call *call = rig_set_call(OPERATION_ACQUIRE, "ab", 1);
    call->operation->lease_ms = 1000;
    rig_start(call);
    rig_send(LANE);
    rig_granted(LANE);
    struct call *end = rig_release_all("ab", 1);
    rig_send(LANE);
    rig_abort(end, REDLATCH_TIMEOUT);
    rig_pass(SECOND);
    CHECK_EQ_INT(single->stage, HOLD_GONE);
    CHECK_EQ_INT(rig_release("b", 1)->status, REDLATCH_LOST); /* of the level that the owner still has */
    rig_error(LANE, "READONLY You can't write against a read only replica.");
    CHECK(rig_name("b")->holds == NULL);
    RIG_CLOSE();
}

/* Nobody else tells who waits behind a hold of this process that it is over. */
static void who_waits_behind_a_refused_release_looks(uint8_t lock_kind) {
    rig_open();
    rig.lock_kind = lock_kind;
    rig_start(rig_set_call(OPERATION_ACQUIRE, "ab", 1));
    rig_send(LANE);
    rig_granted(LANE);
    struct call *waiter = rig_acquire("b", 2);
    rig_send(LANE);
    rig_integer(LANE, RIG_LEASE_MS);
    CHECK_EQ_INT(waiter->operation->phase, PHASE_PARKED);
    struct call *set = rig_set_call(OPERATION_ACQUIRE, "ac", 3);
    rig_start(set);
    rig_send(LANE);
    rig_met(LANE, 1, RIG_LEASE_MS);
    CHECK_EQ_INT(set->operation->phase, PHASE_PARKED);
    struct call *release = rig_set_call(OPERATION_RELEASE, "ab", 1);
    rig_start(release);
    CHECK_EQ_INT(rig_send(LANE)->kind, COMMAND_RELEASE_MANY);
    rig_error(LANE, "READONLY You can't write against a read only replica.");
    CHECK_EQ_INT(release->status, REDLATCH_READ_ONLY);
    CHECK_EQ_INT(set->operation->phase, PHASE_ASKING);
    CHECK_EQ_INT(waiter->operation->phase, PHASE_ASKING);
    rig_send(LANE);
    rig_met(LANE, 1, RIG_LEASE_MS);
    rig_send(LANE);
    rig_nil(LANE);
    rig_end("b", 2);
    rig_abort(set, REDLATCH_CANCELLED);
    RIG_CLOSE();
}

static void a_waiter_that_listens_looks(void) {
    who_waits_behind_a_refused_release_looks(REDLATCH_MUTEX);
}

static void a_waiter_that_polls_looks(void) {
    who_waits_behind_a_refused_release_looks(REDLATCH_SPIN);
}

int main(void) {
    RUN(one_that_waited_for_its_own_hold_in_vain_met_no_server);
    RUN(levels_that_are_being_released_do_not_count);
    RUN(a_level_given_back_in_the_background_goes_with_its_refusal);
    RUN(a_waiter_that_listens_looks);
    RUN(a_waiter_that_polls_looks);
    return unit_done();
}
