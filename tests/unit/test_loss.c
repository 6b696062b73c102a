/* How holds are lost or left, to whom a loss is reported, and what becomes of the calls in progress.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"
#include "lease.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

/* Grants a hold with a nested acquire, for a second. */
static struct hold *grant_nested(void) {
    struct hold *hold = rig_grant_for("a", 1, 1000);
    rig_acquire_for("a", 1, 1000);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    return hold;
}

static void a_fixed_lease_runs_out(void) {
    rig_open();
    struct hold *hold = rig_grant_for("a", 1, 1000);
    rig_pass(988 * MILLISECOND - 1);
    CHECK_EQ_INT(hold->stage, HOLD_ALIVE);
    rig_pass(1);
    CHECK_EQ_INT(hold->stage, HOLD_GONE);
    int reason = 0;
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, &reason), 1);
    CHECK_EQ_INT(reason, REDLATCH_REASON_EXPIRED);
    CHECK_EQ_INT(rig_losses(LOSS_THREADS, NULL), 1); /* each queue reports the loss */
    CHECK_EQ_INT(rig.engine.stats.lost, 1);
    CHECK_EQ_INT(rig.engine.stats.held, 0);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_NOT_OWNED);
    RIG_CLOSE();
}

static void a_lost_hold_is_seen_before_its_timer_fires(void) {
    rig_open();
    rig_grant_for("a", 1, 1000);
    rig.now += SECOND;
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    CHECK_EQ_INT(engine_first_loss(&rig.engine, LOSS_EVENTS)->over_ms, 12); /* since the deadline: lease less margin */
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void each_acquire_of_a_lost_hold_is_reported(void) {
    rig_open();
    grant_nested();
    rig_pass(2 * SECOND);
    CHECK_EQ_INT(rig_acquire("a", 1)->status, REDLATCH_LOST); /* a re-entry never creates the lock anew */
    CHECK_EQ_INT(rig_extend("a", 1, 1000)->status, REDLATCH_LOST);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    struct call *call = rig_acquire("a", 1); /* every acquire was reported: a new hold begins */
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_reentry_that_finds_nothing_loses_the_hold(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(call->status, REDLATCH_LOST);
    CHECK_EQ_INT(hold->stage, HOLD_GONE);
    int reason = 0;
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, &reason), 1);
    CHECK_EQ_INT(reason, REDLATCH_REASON_MISSING);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    RIG_CLOSE();
}

static void a_partial_release_that_finds_nothing_lowers_the_hold_count_by_one(void) {
    rig_open();
    rig_grant("a", 1);
    rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    struct call *release = rig_release("a", 1);
    struct call *next = rig_release("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(release->status, REDLATCH_LOST);
    CHECK_EQ_INT(next->status, REDLATCH_LOST);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_NOT_OWNED);
    RIG_CLOSE();
}

static void a_nested_acquire_given_back_in_the_background_goes_with_its_error(void) {
    rig_open();
    struct hold *hold = grant_nested();
    struct call *call = rig_release("a", 1);
    rig_send(PIPELINE);
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_pass(SECOND);
    CHECK_EQ_INT(hold->stage, HOLD_GONE);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST); /* for the acquire that the owner has not released */
    rig_error(PIPELINE, "NOAUTH Authentication required.");
    CHECK(rig_name("a")->holds == NULL);
    RIG_CLOSE();
}

/* The release of the outer acquire waits for that of the inner one when its caller gives up. */
static void give_up_releases(void) {
    struct call *inner = rig_release("a", 1);
    rig_send(PIPELINE);
    struct call *outer = rig_release("a", 1);
    rig_abort(inner, REDLATCH_TIMEOUT);
    rig_abort(outer, REDLATCH_TIMEOUT);
}

/* The acquire is granted, and its hold is released. */
static void grant_and_end(const struct call *acquire) {
    rig_nil(PIPELINE);
    CHECK_EQ_INT(acquire->status, REDLATCH_OK);
    rig_end("a", 1);
}

/* A release that was given up goes on in the background. Its caller will not release again, so it counts from then on,
 * whenever its reply comes. */
static void a_release_in_the_background_counts_before_its_reply(void) {
    rig_open();
    struct hold *hold = grant_nested();
    struct call *inner = rig_release("a", 1);
    rig_send(PIPELINE);
    rig_abort(inner, REDLATCH_TIMEOUT);
    rig_pass(SECOND);
    CHECK_EQ_INT(hold->stage, HOLD_GONE);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    CHECK(rig_name("a")->holds == NULL);
    struct call *next = rig_acquire("a", 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE);
    rig_integer(PIPELINE, 0);
    grant_and_end(next);
    RIG_CLOSE();
}

static void a_hold_lost_when_all_its_releases_were_given_up_is_forgotten(void) {
    rig_open();
    grant_nested();
    give_up_releases();
    rig_pass(SECOND);
    struct call *next = rig_acquire("a", 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE);
    rig_error(PIPELINE, "NOAUTH Authentication required.");
    grant_and_end(next);
    RIG_CLOSE();
}

static void an_acquire_does_not_nest_in_a_hold_whose_releases_were_given_up(void) {
    rig_open();
    struct hold *hold = grant_nested();
    give_up_releases();
    struct call *next = rig_acquire("a", 1);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(hold->stage, HOLD_RELEASING);
    const struct command *command = rig_send(PIPELINE);
    CHECK(command->kind == COMMAND_RELEASE && command->count == 0);
    rig_integer(PIPELINE, 0); /* the hold is lost, and that is no matter of the acquire */
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE);
    grant_and_end(next);
    RIG_CLOSE();
}

static void a_lock_that_is_not_reentrant_is_acquired_behind_a_release_given_up(void) {
    rig_open();
    rig_grant_for("a", 1, 1000);
    struct call *extension = rig_extend("a", 1, 1000);
    rig_send(PIPELINE);
    struct call *release = rig_release("a", 1);
    rig_abort(extension, REDLATCH_TIMEOUT);
    rig_abort(release, REDLATCH_TIMEOUT);
    struct call *next = rig_call(OPERATION_ACQUIRE, "a", 1);
    next->operation->not_reentrant = true;
    rig_start(next);
    CHECK(!next->done);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE);
    grant_and_end(next);
    RIG_CLOSE();
}

static void an_unconfirmed_release_behind_one_given_up_leaves_nothing_to_nest_in(void) {
    rig_open();
    rig_grant("a", 1);
    for (int i = 0; i < 2; i++) {
        rig_acquire("a", 1);
        rig_send(PIPELINE);
        rig_integer(PIPELINE, 1);
    }
    rig_release("a", 1);
    rig_send(PIPELINE);
    struct call *given_up = rig_release("a", 1);
    struct call *unconfirmed = rig_call(OPERATION_RELEASE, "a", 1);
    unconfirmed->operation->unconfirmed = true;
    rig_start(unconfirmed);
    struct call *next = rig_acquire("a", 1);
    rig_abort(given_up, REDLATCH_TIMEOUT);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(unconfirmed->status, REDLATCH_OK);
    CHECK_EQ_INT(rig_send(PIPELINE)->count, 0);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE);
    grant_and_end(next);
    RIG_CLOSE();
}

static void what_an_extension_in_doubt_left_of_a_lost_hold_is_released(void) {
    rig_open();
    rig_grant_for("a", 1, 1000);
    struct call *extension = rig_extend("a", 1, 60000);
    rig_send(PIPELINE);
    rig_abort(extension, REDLATCH_TIMEOUT);
    rig_pass(SECOND);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    const struct command *command = NULL;
    for (int i = 0; i < 2; i++) { /* it is sent again once */
        rig_error(PIPELINE, "ERR failed script: 00, on @user_script:3.");
        rig_pass(10 * MILLISECOND);
        command = rig_send(PIPELINE);
    }
    CHECK(command && command->kind == COMMAND_RELEASE && command->count == 0);
    for (int i = 0; i < 2; i++) { /* the release also */
        rig_error(PIPELINE, "ERR failed script: 00, on @user_script:3.");
        rig_pass(100 * MILLISECOND);
        CHECK((rig_send(PIPELINE) != NULL) == (i == 0));
    }
    RIG_CLOSE();
}

static void an_acquire_that_waits_for_a_lost_hold_goes_behind_the_releases_given_up(void) {
    rig_open();
    rig_grant_for("a", 1, 1000);
    struct call *extension = rig_extend("a", 1, 1000);
    rig_send(PIPELINE);
    struct call *release = rig_release("a", 1);
    struct call *next = rig_acquire("a", 1);
    rig_abort(release, REDLATCH_TIMEOUT);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(extension->status, REDLATCH_LOST);
    CHECK(!next->done);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE);
    grant_and_end(next);
    RIG_CLOSE();
}

static void a_nested_acquire_answered_after_the_deadline_does_not_bring_the_hold_back(void) {
    rig_open();
    struct hold *hold = rig_grant_for("a", 1, 1000);
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_pass(SECOND);
    CHECK_EQ_INT(hold->stage, HOLD_GONE);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(call->status, REDLATCH_LOST);
    CHECK_EQ_INT(hold->count, 1);
    struct command *release = rig_send(PIPELINE); /* the server still has the hold: nobody shall wait for its lease */
    CHECK(release->kind == COMMAND_RELEASE && release->count == 0 && release->id == hold->id);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_NOT_OWNED);
    RIG_CLOSE();
}

static void an_extension_answered_after_the_deadline_is_lost(void) {
    rig_open();
    rig_grant_for("a", 1, 1000);
    struct call *call = rig_extend("a", 1, 5000);
    rig_send(PIPELINE);
    rig.now += SECOND; /* even before the timer fires */
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(call->status, REDLATCH_LOST);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    RIG_CLOSE();
}

static void calls_that_wait_for_a_lost_hold_are_notified(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    rig_pass(10 * SECOND);
    rig_send(PIPELINE_BACKGROUND);
    struct call *extension = rig_extend("a", 1, 5000);
    const int64_t gone[] = {-2};
    rig_integers(PIPELINE_BACKGROUND, gone, 1);
    CHECK_EQ_INT(hold->stage, HOLD_GONE);
    CHECK_EQ_INT(extension->status, REDLATCH_LOST);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    RIG_CLOSE();
}

/* An extension waits for a renewal, and releases wait behind the extension. Then the deadline passes. */
static void a_release_that_waits_ends_the_lost_hold(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    rig_acquire("a", 1);
    rig_send(PIPELINE);
    struct call *extension = rig_extend("a", 1, 5000);
    struct call *releases[2] = {rig_release("a", 1), rig_release("a", 1)};
    rig_pass(10 * SECOND); /* the renewal is under way when the re-entry is answered */
    rig_send(PIPELINE_BACKGROUND);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(hold->count, 2);
    CHECK(!extension->done);
    rig.now += RIG_LEASE_MS * MILLISECOND;
    struct call *release = rig_release("a", 1); /* finds by the clock that the hold is lost */
    CHECK_EQ_INT(extension->status, REDLATCH_LOST);
    CHECK_EQ_INT(releases[0]->status, REDLATCH_LOST);
    CHECK_EQ_INT(releases[1]->status, REDLATCH_LOST);
    CHECK_EQ_INT(release->status, REDLATCH_NOT_OWNED);
    const int64_t before[] = {-2};
    rig_integers(PIPELINE_BACKGROUND, before, 1);
    RIG_CLOSE();
}

static void giving_up_a_call_whose_hold_was_forgotten_touches_nothing(void) {
    rig_open();
    rig_grant_for("a", 1, 1000);
    struct call *call = rig_call(OPERATION_ACQUIRE, "a", 1);
    call->operation->pipeline = PIPELINE_HOST;
    rig_start(call);
    rig_send(PIPELINE_HOST);
    rig_pass(SECOND);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST); /* which forgets the hold */
    rig_losses(LOSS_EVENTS, NULL);
    rig_losses(LOSS_THREADS, NULL);
    struct hold *other = rig_grant("b", 2); /* it gets the memory of the first hold */
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    CHECK(other->busy == NULL);
    rig_integer(PIPELINE_HOST, 0);
    rig_end("b", 2);
    RIG_CLOSE();
}

static void a_call_whose_hold_was_forgotten_is_answered_as_lost(void) {
    rig_open();
    rig_grant_for("a", 1, 1000);
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_pass(SECOND);
    rig_release("a", 1);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(call->status, REDLATCH_LOST);
    const struct command *command = rig_send(PIPELINE); /* the nested acquire found the hold on the server */
    CHECK(command->kind == COMMAND_RELEASE && command->count == 0);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void what_an_owner_that_ended_held_is_left_to_its_lease(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    engine_owner_end(&rig.engine, 1, rig.now);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(call->status, REDLATCH_LOST);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void a_forgotten_hold_stays_until_both_queues_reported_it(void) {
    rig_open();
    rig_grant_for("a", 1, 1000);
    rig_grant_for("b", 1, 1000);
    rig_pass(SECOND);
    rig_release("a", 1);
    rig_release("b", 1);
    uint32_t spare = rig.engine.hold_pool_size;
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), 2);
    CHECK_EQ_INT(rig.engine.hold_pool_size, spare);
    CHECK_EQ_INT(rig_losses(LOSS_THREADS, NULL), 2);
    CHECK_EQ_INT(rig.engine.hold_pool_size, spare + 2);
    CHECK(engine_first_loss(&rig.engine, LOSS_EVENTS) == NULL);
    RIG_CLOSE();
}

static void a_loss_that_nobody_wants_to_hear_of_is_not_kept(void) {
    rig_open();
    rig.engine.losses_wanted[LOSS_EVENTS] = false;
    rig.engine.losses_wanted[LOSS_THREADS] = false;
    struct hold *hold = rig_grant_for("a", 1, 1000);
    rig_pass(SECOND);
    CHECK_EQ_INT(hold->stage, HOLD_GONE);
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), 0);
    rig_release("a", 1);
    RIG_CLOSE();
}

static void a_loss_wakes_the_foremost_waiter(void) {
    rig_open();
    rig_grant_for("a", 1, 1000);
    struct call *waiter = rig_acquire("a", 2);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1000);
    rig_subscriptions();
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1000);
    CHECK_EQ_INT(waiter->operation->phase, PHASE_PARKED);
    rig_pass(988 * MILLISECOND);
    CHECK_EQ_INT(waiter->operation->phase, PHASE_REQUESTING);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    rig_release("a", 1);
    rig_end("a", 2);
    RIG_CLOSE();
}

/* The lease may be shorter than when the waiter parked. */
static void a_waiter_rechecks_when_a_hold_is_left(void) {
    static const uint8_t kinds[] = {REDLATCH_MUTEX, REDLATCH_SPIN};
    for (size_t i = 0; i < sizeof kinds; i++) {
        rig_open();
        rig.lock_kind = kinds[i];
        struct hold *hold = rig_grant_for("a", 1, 600000);
        struct call *waiter = rig_acquire("a", 2);
        while (rig_send(PIPELINE)) {
            rig_integer(PIPELINE, 600000);
            rig_subscriptions(); /* a new subscription makes the waiter recheck */
        }
        engine_leave(&rig.engine, hold, rig.now);
        rig_turn();
        struct command *command = rig_send(PIPELINE);
        CHECK(command && command->kind == COMMAND_ACQUIRE);
        rig_integer(PIPELINE, 200);
        rig_pass(211 * MILLISECOND);
        CHECK(rig_send(PIPELINE));
        rig_nil(PIPELINE);
        CHECK_EQ_INT(waiter->status, REDLATCH_OK);
        rig_end("a", 2);
        RIG_CLOSE();
    }
}

/* The set waits for "a", and has nothing in the wait queue of "b". */
static void a_set_rechecks_when_a_hold_is_left(void) {
    rig_open();
    struct hold *hold = rig_grant_for("a", 1, 600000);
    struct call *waiter = rig_acquire_all("ab", 2);
    CHECK(rig_send(PIPELINE));
    rig_contended(PIPELINE, 1, 600000);
    rig_subscriptions();
    while (rig_send(PIPELINE)) {
        rig_contended(PIPELINE, 1, 600000);
    }
    engine_leave(&rig.engine, hold, rig.now);
    rig_turn();
    CHECK(rig_send(PIPELINE));
    rig_granted(PIPELINE);
    CHECK_EQ_INT(waiter->status, REDLATCH_OK);
    struct call *release = rig_release_all("ab", 2);
    CHECK(rig_send(PIPELINE));
    rig_integer(PIPELINE, 1);
    CHECK(release->done);
    RIG_CLOSE();
}

static void the_holds_of_an_owner_that_ended_are_reported_and_forgotten(void) {
    rig_open();
    rig_grant("a", 1);
    rig_grant("b", 1);
    rig_grant("c", 2);
    engine_owner_end(&rig.engine, 1, rig.now);
    rig_turn();
    int reason = 0;
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, &reason), 2);
    CHECK_EQ_INT(reason, REDLATCH_REASON_ABANDONED);
    CHECK_EQ_INT(rig.engine.stats.held, 1);
    CHECK(rig_send(PIPELINE) == NULL); /* nothing is released: the leases run out */
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_NOT_OWNED);
    rig_end("c", 2);
    RIG_CLOSE();
}

/* A client may have thousands of names, so the end of a thread must not walk them all. */
static void the_end_of_an_owner_visits_its_own_holds_only(void) {
    rig_open();
    rig_grant("a", 1);
    rig_grant("b", 2);
    rig_grant("b2", 257);
    struct resource_table names = rig.engine.resources;
    rig.engine.resources = (struct resource_table){0};
    engine_owner_end(&rig.engine, 1, rig.now);
    rig.engine.resources = names;
    rig_turn();
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), 1);
    CHECK_EQ_INT(rig.engine.stats.held, 2);
    rig_end("b", 2);
    rig_end("b2", 257);
    RIG_CLOSE();
}

static void an_owner_that_ended_takes_its_waiting_calls_along(void) {
    rig_open();
    rig_grant("a", 1);
    rig_acquire("a", 1);
    rig_send(PIPELINE);
    struct call *extension = rig_extend("a", 1, 5000);
    struct call *releases[2] = {rig_release("a", 1), rig_release("a", 1)};
    rig_pass(10 * SECOND);
    rig_send(PIPELINE_BACKGROUND);
    rig_integer(PIPELINE, 1);
    engine_owner_end(&rig.engine, 1, rig.now);
    rig_turn();
    CHECK_EQ_INT(extension->status, REDLATCH_LOST);
    CHECK_EQ_INT(releases[1]->status, REDLATCH_LOST);
    const int64_t before[] = {20000};
    rig_integers(PIPELINE_BACKGROUND, before, 1);
    RIG_CLOSE();
}

int main(void) {
    RUN(a_fixed_lease_runs_out);
    RUN(a_lost_hold_is_seen_before_its_timer_fires);
    RUN(each_acquire_of_a_lost_hold_is_reported);
    RUN(a_reentry_that_finds_nothing_loses_the_hold);
    RUN(a_partial_release_that_finds_nothing_lowers_the_hold_count_by_one);
    RUN(a_nested_acquire_given_back_in_the_background_goes_with_its_error);
    RUN(a_release_in_the_background_counts_before_its_reply);
    RUN(a_hold_lost_when_all_its_releases_were_given_up_is_forgotten);
    RUN(an_acquire_does_not_nest_in_a_hold_whose_releases_were_given_up);
    RUN(a_lock_that_is_not_reentrant_is_acquired_behind_a_release_given_up);
    RUN(an_unconfirmed_release_behind_one_given_up_leaves_nothing_to_nest_in);
    RUN(what_an_extension_in_doubt_left_of_a_lost_hold_is_released);
    RUN(an_acquire_that_waits_for_a_lost_hold_goes_behind_the_releases_given_up);
    RUN(a_nested_acquire_answered_after_the_deadline_does_not_bring_the_hold_back);
    RUN(an_extension_answered_after_the_deadline_is_lost);
    RUN(calls_that_wait_for_a_lost_hold_are_notified);
    RUN(a_release_that_waits_ends_the_lost_hold);
    RUN(giving_up_a_call_whose_hold_was_forgotten_touches_nothing);
    RUN(a_call_whose_hold_was_forgotten_is_answered_as_lost);
    RUN(what_an_owner_that_ended_held_is_left_to_its_lease);
    RUN(a_forgotten_hold_stays_until_both_queues_reported_it);
    RUN(a_loss_that_nobody_wants_to_hear_of_is_not_kept);
    RUN(a_loss_wakes_the_foremost_waiter);
    RUN(a_waiter_rechecks_when_a_hold_is_left);
    RUN(a_set_rechecks_when_a_hold_is_left);
    RUN(the_holds_of_an_owner_that_ended_are_reported_and_forgotten);
    RUN(the_end_of_an_owner_visits_its_own_holds_only);
    RUN(an_owner_that_ended_takes_its_waiting_calls_along);
    return unit_done();
}
