/* Sets whose owner has holds with a command in flight: a release or an extension.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

/* TIMEOUT would say that another owner holds the name, and the caller would wait for a release that only itself can
 * make. */
static void one_that_waited_for_its_own_hold_in_vain_reached_no_server(void) {
    rig_open();
    rig_grant("b", 1);
    rig_extend("b", 1, 60000);
    struct call *call = rig_acquire_all("ab", 1);
    CHECK_EQ_INT(call->operation->phase, PHASE_WAITING);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_UNREACHABLE);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    rig_end("b", 1);
    RIG_CLOSE();
}

static void acquires_that_are_being_released_do_not_count(void) {
    rig_open();
    struct hold *single = rig_grant("b", 1);
    rig_acquire_all("ab", 1);
    rig_send(PIPELINE);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(hold_count_left(single), 2);
    struct call *end = rig_release_all("ab", 1);
    rig_send(PIPELINE);
    CHECK_EQ_INT(hold_count_left(single), 1);
    struct call *next = rig_release_all("b", 1);
    rig_abort(next, REDLATCH_TIMEOUT); /* the release goes on in the background, behind the first */
    CHECK_EQ_INT(hold_count_left(single), 0);
    rig_integers(PIPELINE, (const int64_t[]){1, 1}, 2);
    CHECK_EQ_INT(end->status, REDLATCH_OK);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

/* Acquires a set for a second. */
static void acquire_both(void) {
    struct call *call = rig_set_call(OPERATION_ACQUIRE, "ab", 1);
    call->operation->lease_ms = 1000;
    rig_start(call);
    rig_send(PIPELINE);
    rig_granted(PIPELINE);
}

static void a_nested_acquire_given_back_in_the_background_goes_with_its_error(void) {
    rig_open();
    struct hold *single = rig_grant_for("b", 1, 1000);
    acquire_both();
    struct call *end = rig_release_all("ab", 1);
    rig_send(PIPELINE);
    rig_abort(end, REDLATCH_TIMEOUT);
    rig_pass(SECOND);
    CHECK_EQ_INT(single->stage, HOLD_GONE);
    CHECK_EQ_INT(rig_release("b", 1)->status, REDLATCH_LOST); /* for the acquire that the owner has not released */
    rig_error(PIPELINE, "NOAUTH Authentication required.");
    CHECK(rig_name("b")->holds == NULL);
    RIG_CLOSE();
}

/* Acquires twice, and gives up both releases. The first one is in flight. */
static void acquire_twice_and_give_up(void) {
    acquire_both();
    acquire_both();
    struct call *inner = rig_release_all("ab", 1);
    rig_send(PIPELINE);
    struct call *outer = rig_release_all("ab", 1);
    rig_abort(inner, REDLATCH_TIMEOUT);
    rig_abort(outer, REDLATCH_TIMEOUT);
}

/* The set is granted, and released. */
static void grant_and_release(const struct call *acquire) {
    rig_granted(PIPELINE);
    CHECK_EQ_INT(acquire->status, REDLATCH_OK);
    rig_release_all("ab", 1);
    rig_send(PIPELINE);
    rig_integers(PIPELINE, (const int64_t[]){1, 1}, 2);
}

static void a_set_whose_releases_were_given_up_is_acquired_anew_once_it_is_lost(void) {
    rig_open();
    acquire_twice_and_give_up();
    rig_pass(SECOND);
    struct call *next = rig_acquire_all("ab", 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE_MANY);
    rig_integers(PIPELINE, (const int64_t[]){0, 0}, 2);
    grant_and_release(next);
    RIG_CLOSE();
}

static void a_set_that_waits_for_releases_given_up_is_acquired_anew_when_all_is_lost(void) {
    rig_open();
    acquire_twice_and_give_up();
    struct call *next = rig_acquire_all("ab", 1);
    CHECK_EQ_INT(next->operation->phase, PHASE_WAITING);
    rig_pass(SECOND);
    rig_integers(PIPELINE, (const int64_t[]){0, 0}, 2);
    CHECK(!next->done);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE_MANY);
    grant_and_release(next);
    RIG_CLOSE();
}

static void a_set_waits_for_a_release_given_up_of_a_lock_that_is_not_reentrant(void) {
    rig_open();
    rig_grant("b", 1);
    struct call *extension = rig_extend("b", 1, 60000);
    rig_send(PIPELINE);
    struct call *release = rig_release("b", 1);
    rig_abort(extension, REDLATCH_TIMEOUT);
    rig_abort(release, REDLATCH_TIMEOUT);
    struct call *next = rig_set_call(OPERATION_ACQUIRE, "ab", 1);
    next->set->members[1].not_reentrant = true;
    rig_start(next);
    CHECK(!next->done);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE_MANY);
    grant_and_release(next);
    RIG_CLOSE();
}

/* A release that is refused publishes no message, so the waiters behind the hold recheck without one. */
static void who_waits_behind_a_refused_release_rechecks(uint8_t lock_kind) {
    rig_open();
    rig.lock_kind = lock_kind;
    rig_start(rig_set_call(OPERATION_ACQUIRE, "ab", 1));
    rig_send(PIPELINE);
    rig_granted(PIPELINE);
    struct call *waiter = rig_acquire("b", 2);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, RIG_LEASE_MS);
    CHECK_EQ_INT(waiter->operation->phase, PHASE_PARKED);
    struct call *set = rig_set_call(OPERATION_ACQUIRE, "ac", 3);
    rig_start(set);
    rig_send(PIPELINE);
    rig_contended(PIPELINE, 1, RIG_LEASE_MS);
    CHECK_EQ_INT(set->operation->phase, PHASE_PARKED);
    struct call *release = rig_set_call(OPERATION_RELEASE, "ab", 1);
    rig_start(release);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE_MANY);
    rig_error(PIPELINE, "NOAUTH Authentication required.");
    CHECK_EQ_INT(release->status, REDLATCH_AUTHENTICATION);
    CHECK_EQ_INT(set->operation->phase, PHASE_REQUESTING);
    CHECK_EQ_INT(waiter->operation->phase, PHASE_REQUESTING);
    rig_send(PIPELINE);
    rig_contended(PIPELINE, 1, RIG_LEASE_MS);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    rig_end("b", 2);
    rig_abort(set, REDLATCH_CANCELLED);
    RIG_CLOSE();
}

static void a_waiter_that_listens_rechecks(void) {
    who_waits_behind_a_refused_release_rechecks(REDLATCH_MUTEX);
}

static void a_waiter_that_polls_rechecks(void) {
    who_waits_behind_a_refused_release_rechecks(REDLATCH_SPIN);
}

int main(void) {
    RUN(one_that_waited_for_its_own_hold_in_vain_reached_no_server);
    RUN(acquires_that_are_being_released_do_not_count);
    RUN(a_set_waits_for_a_release_given_up_of_a_lock_that_is_not_reentrant);
    RUN(a_set_whose_releases_were_given_up_is_acquired_anew_once_it_is_lost);
    RUN(a_set_that_waits_for_releases_given_up_is_acquired_anew_when_all_is_lost);
    RUN(a_nested_acquire_given_back_in_the_background_goes_with_its_error);
    RUN(a_waiter_that_listens_rechecks);
    RUN(a_waiter_that_polls_rechecks);
    return unit_done();
}
