/* Unconfirmed releases: done when their command is queued, and reported when they fail.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"
#include "lease.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

static struct call *release_unconfirmed(const char *name, uint64_t owner) {
    struct call *call = rig_call(OPERATION_RELEASE, name, owner);
    call->operation->unconfirmed = true;
    rig_start(call);
    return call;
}

/* Takes the failure that is to be reported, and returns it. Returns OK if there is none. */
static int take_failure(int *reason_out) {
    const struct hold *hold = engine_first_loss(&rig.engine, LOSS_EVENTS);
    int status = hold ? hold->release_status : REDLATCH_OK;
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, reason_out), hold ? 1 : 0);
    CHECK_EQ_INT(rig_losses(LOSS_THREADS, NULL), hold ? 1 : 0);
    return status;
}

static void it_is_done_when_it_is_on_its_way(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    uint64_t id = hold->id;
    struct call *call = release_unconfirmed("a", 1);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK(!resource_hold_of(rig_name("a"), REDLATCH_MUTEX, 1));
    CHECK_EQ_INT(rig.engine.stats.held, 0);
    CHECK_EQ_INT(rig.engine.stats.unconfirmed, 1);
    struct command *command = rig_send(PIPELINE);
    CHECK(command->kind == COMMAND_RELEASE && command->count == 0 && command->id == id);
    CHECK_EQ_INT(rig.server.pipelines[PIPELINE].unconfirmed, 1);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(rig.server.pipelines[PIPELINE].unconfirmed, 0);
    CHECK_EQ_INT(rig.engine.stats.unconfirmed, 0);
    CHECK_EQ_INT(take_failure(NULL), REDLATCH_OK);
    RIG_CLOSE();
}

static void one_after_the_deadline_is_lost_at_once(void) {
    rig_open();
    rig_grant_for("a", 1, 1000);
    rig_pass(2 * SECOND);
    rig_losses(LOSS_EVENTS, NULL);
    rig_losses(LOSS_THREADS, NULL);
    CHECK_EQ_INT(release_unconfirmed("a", 1)->status, REDLATCH_LOST);
    CHECK(!rig_send(PIPELINE));
    CHECK_EQ_INT(release_unconfirmed("a", 1)->status, REDLATCH_NOT_OWNED);
    RIG_CLOSE();
}

static void one_that_finds_nothing_is_reported(void) {
    rig_open();
    int reason = 0;
    rig_grant("a", 1);
    CHECK_EQ_INT(release_unconfirmed("a", 1)->status, REDLATCH_OK);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(take_failure(&reason), REDLATCH_LOST);
    CHECK_EQ_INT(reason, REDLATCH_REASON_MISSING);
    CHECK_EQ_INT(rig.engine.stats.unconfirmed, 0);
    RIG_CLOSE();
}

static void one_that_is_refused_is_reported(void) {
    rig_open();
    rig_grant("a", 1);
    release_unconfirmed("a", 1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "NOPERM this user has no permissions");
    CHECK_EQ_INT(take_failure(NULL), REDLATCH_NO_PERMISSION);
    RIG_CLOSE();
}

static void one_that_is_refused_for_a_while_is_repeated_until_the_lease_ends(void) {
    rig_open();
    rig_grant_for("a", 1, 1000);
    release_unconfirmed("a", 1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "LOADING Redis is loading the dataset in memory");
    rig_pass(SECOND / 2);
    CHECK(rig_send(PIPELINE));
    CHECK_EQ_INT(rig.engine.stats.unconfirmed, 1);
    rig_pass(SECOND);
    rig_error(PIPELINE, "LOADING Redis is loading the dataset in memory");
    CHECK_EQ_INT(take_failure(NULL), REDLATCH_LOADING);
    CHECK_EQ_INT(rig.engine.stats.unconfirmed, 0);
    RIG_CLOSE();
}

static void a_repeated_one_that_finds_nothing_may_have_run(void) {
    rig_open();
    rig_grant("a", 1);
    release_unconfirmed("a", 1);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    CHECK_EQ_INT(rig.server.pipelines[PIPELINE].unconfirmed, 0);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(rig_send(PIPELINE)->repeated);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(take_failure(NULL), REDLATCH_OK);
    RIG_CLOSE();
}

static void one_that_was_first_sent_after_the_deadline_is_reported(void) {
    rig_open();
    int reason = 0;
    rig_grant_for("a", 1, 1000);
    CHECK_EQ_INT(release_unconfirmed("a", 1)->status, REDLATCH_OK);
    rig_pass(2 * SECOND); /* without a connection */
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(take_failure(&reason), REDLATCH_LOST);
    CHECK_EQ_INT(reason, REDLATCH_REASON_EXPIRED);
    RIG_CLOSE();
}

static void that_of_a_nested_acquire_sends_nothing(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(release_unconfirmed("a", 1)->status, REDLATCH_OK);
    CHECK(!rig_send(PIPELINE));
    CHECK_EQ_INT(hold->count, 1);
    rig_acquire("a", 1); /* its command states the hold count that results */
    CHECK_EQ_INT(rig_send(PIPELINE)->count, 2);
    rig_integer(PIPELINE, 1);
    release_unconfirmed("a", 1);
    release_unconfirmed("a", 1);
    struct command *command = rig_send(PIPELINE);
    CHECK(command->kind == COMMAND_RELEASE && command->count == 0);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(take_failure(NULL), REDLATCH_OK);
    RIG_CLOSE();
}

/* The acquire without a lease is released: the hold is no longer renewed. */
static void that_of_a_renewed_nested_acquire_ends_the_renewal(void) {
    rig_open();
    struct hold *hold = rig_grant_for("a", 1, 60000);
    rig_acquire_for("a", 1, REDLATCH_RENEWED);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    CHECK(hold_is_renewed(hold));
    release_unconfirmed("a", 1);
    CHECK(!hold_is_renewed(hold) && hold->renew_at == NEVER);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void it_waits_for_an_earlier_command_of_the_hold(void) {
    rig_open();
    rig_grant("a", 1);
    rig_extend("a", 1, 5000);
    rig_send(PIPELINE);
    struct call *call = release_unconfirmed("a", 1);
    CHECK(!call->done);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

/* The receiver reads the reply, since the caller of the release has returned. */
static void a_hand_over_goes_by_the_pipeline_of_its_receiver(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *waiter = rig_acquire("a", 2);
    rig_park(RIG_LEASE_MS);
    waiter->operation->pipeline = PIPELINE_CALLERS_SECOND;
    CHECK_EQ_INT(release_unconfirmed("a", 1)->status, REDLATCH_OK);
    CHECK(!rig_send(PIPELINE));
    CHECK_EQ_INT(rig_send(PIPELINE_CALLERS_SECOND)->kind, COMMAND_HAND_OVER);
    CHECK_EQ_INT(rig.server.pipelines[PIPELINE_CALLERS_SECOND].unconfirmed, 0); /* the receiver waits for it */
    rig_integer(PIPELINE_CALLERS_SECOND, 1);
    CHECK_EQ_INT(waiter->status, REDLATCH_OK);
    CHECK_EQ_INT(rig.engine.stats.hand_overs, 1);
    CHECK_EQ_INT(rig.engine.stats.unconfirmed, 0);
    rig_end("a", 2);
    RIG_CLOSE();
}

static void a_hand_over_of_nothing_is_reported(void) {
    rig_open();
    int reason = 0;
    rig_grant("a", 1);
    struct call *waiter = rig_acquire("a", 2);
    rig_park(RIG_LEASE_MS);
    release_unconfirmed("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(take_failure(&reason), REDLATCH_LOST);
    CHECK_EQ_INT(reason, REDLATCH_REASON_MISSING);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(waiter->status, REDLATCH_OK);
    rig_end("a", 2);
    RIG_CLOSE();
}

/* The next acquire follows the release on the connection. After a NOSCRIPT it would run before the release. */
static void the_first_one_goes_as_text(void) {
    rig_open();
    for (int i = 0; i < 2; i++) {
        rig_grant("a", 1);
        release_unconfirmed("a", 1);
        CHECK_EQ_INT(rig_send(PIPELINE)->as_text, i == 0);
        rig_integer(PIPELINE, 1);
    }
    RIG_CLOSE();
}

/* Returns whether an unconfirmed release goes as text. Its command is answered. */
static bool goes_as_text(const char *name) {
    rig_grant(name, 1);
    release_unconfirmed(name, 1);
    bool as_text = rig_send(PIPELINE)->as_text;
    rig_integer(PIPELINE, 1);
    return as_text;
}

static void the_first_one_after_a_lost_connection_goes_as_text(void) {
    rig_open();
    CHECK(goes_as_text("a") && !goes_as_text("a"));
    rig_lost(PIPELINE_CALLERS_SECOND);
    rig_ready(PIPELINE_CALLERS_SECOND, RESOLVED_BY_KILL);
    CHECK(goes_as_text("a") && !goes_as_text("a"));
    RIG_CLOSE();
}

static void a_lost_script_is_not_the_only_one(void) {
    rig_open();
    CHECK(goes_as_text("a") && !goes_as_text("a"));
    rig.lock_kind = REDLATCH_READ;
    CHECK(goes_as_text("b"));
    rig_grant("b", 1);
    release_unconfirmed("b", 1);
    CHECK(!rig_send(PIPELINE)->as_text);
    rig_error(PIPELINE, "NOSCRIPT No matching script. Please use EVAL.");
    CHECK(rig_send(PIPELINE)->as_text);
    rig_integer(PIPELINE, 1);
    rig.lock_kind = REDLATCH_MUTEX;
    CHECK(goes_as_text("a"));
    RIG_CLOSE();
}

static void a_try_that_overtakes_it_waits_for_its_reply(void) {
    rig_open();
    rig_grant("a", 1);
    release_unconfirmed("a", 1);
    rig_send(PIPELINE);
    struct call *call = rig_call(OPERATION_ACQUIRE, "a", 1);
    call->operation->non_blocking = true;
    call->operation->pipeline = PIPELINE_CALLERS_SECOND;
    rig_start(call);
    rig_send(PIPELINE_CALLERS_SECOND);
    rig_integer(PIPELINE_CALLERS_SECOND, 30000);
    CHECK(!call->done);
    rig_integer(PIPELINE, 1);
    rig_send(PIPELINE_CALLERS_SECOND);
    rig_nil(PIPELINE_CALLERS_SECOND);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_try_that_finds_another_owner_ends(void) {
    rig_open();
    rig_grant("a", 1);
    release_unconfirmed("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    struct call *call = rig_try("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

int main(void) {
    RUN(it_is_done_when_it_is_on_its_way);
    RUN(one_after_the_deadline_is_lost_at_once);
    RUN(one_that_finds_nothing_is_reported);
    RUN(one_that_is_refused_is_reported);
    RUN(one_that_is_refused_for_a_while_is_repeated_until_the_lease_ends);
    RUN(a_repeated_one_that_finds_nothing_may_have_run);
    RUN(one_that_was_first_sent_after_the_deadline_is_reported);
    RUN(that_of_a_nested_acquire_sends_nothing);
    RUN(that_of_a_renewed_nested_acquire_ends_the_renewal);
    RUN(it_waits_for_an_earlier_command_of_the_hold);
    RUN(a_hand_over_goes_by_the_pipeline_of_its_receiver);
    RUN(a_hand_over_of_nothing_is_reported);
    RUN(the_first_one_goes_as_text);
    RUN(the_first_one_after_a_lost_connection_goes_as_text);
    RUN(a_lost_script_is_not_the_only_one);
    RUN(a_try_that_overtakes_it_waits_for_its_reply);
    RUN(a_try_that_finds_another_owner_ends);
    return unit_done();
}
