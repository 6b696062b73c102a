/* The life of a hold: hold count, extension, release, loss, claims.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"
#include "lease.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

/* A nested acquire with a reply of success. */
static struct call *reenter(const char *name, uint64_t owner, int64_t lease_ms) {
    struct call *call = rig_acquire_for(name, owner, lease_ms);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    return call;
}

/* Grants an asynchronous acquire. Its event is not collected yet. */
static struct call *granted_to_host(const char *name, uint64_t owner) {
    struct call *call = rig_call(OPERATION_ACQUIRE, name, owner);
    call->operation->asynchronous = true;
    call->operation->named_owner = true;
    rig_start(call);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    return call;
}

static void hold_counts_are_stated_not_added(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    struct call *second = rig_acquire("a", 1);
    struct command *command = rig_send(PIPELINE);
    CHECK(command->kind == COMMAND_REENTER && command->count == 2 && command->id == hold->id);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(second->status, REDLATCH_OK);
    CHECK(second->hold == hold);
    CHECK_EQ_INT(hold->count, 2);
    rig_release("a", 1);
    command = rig_send(PIPELINE);
    CHECK(command->kind == COMMAND_RELEASE && command->count == 1);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(hold->count, 1);
    CHECK_EQ_INT(rig.engine.stats.held, 1);
    rig_release("a", 1);
    command = rig_send(PIPELINE);
    CHECK(command->kind == COMMAND_RELEASE && command->count == 0);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void a_shorter_nested_acquire_leaves_the_lease_as_it_is(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    int64_t deadline = hold->deadline;
    reenter("a", 1, 1000);
    CHECK_EQ_INT(hold->deadline, deadline);
    reenter("a", 1, 60000);
    CHECK_EQ_INT(hold->deadline, lease_deadline(rig.now, 60000));
    for (int i = 0; i < 3; i++) {
        rig_end("a", 1);
    }
    RIG_CLOSE();
}

static void a_hold_is_renewed_while_a_nested_acquire_without_a_lease_lasts(void) {
    rig_open();
    struct hold *hold = rig_grant_for("a", 1, 60000);
    CHECK(!hold_is_renewed(hold));
    reenter("a", 1, REDLATCH_RENEWED);
    CHECK(hold_is_renewed(hold));
    rig_end("a", 1);
    CHECK(!hold_is_renewed(hold));
    CHECK_EQ_INT(hold->renew_at, NEVER);
    reenter("a", 1, 60000); /* has a fixed lease, although the hold count is 2 again */
    CHECK(!hold_is_renewed(hold));
    rig_end("a", 1);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_bounded_hold_asks_for_no_more_than_what_is_left(void) {
    rig_open();
    struct call *call = rig_call(OPERATION_ACQUIRE, "a", 1);
    call->operation->max_hold_ms = 5000;
    call->operation->lease_ms = 5000;
    rig_start(call);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    rig_pass(2 * SECOND);
    rig_acquire_for("a", 1, 10000);
    CHECK_EQ_INT(rig_send(PIPELINE)->lease_ms, 3000);
    rig_integer(PIPELINE, 1);
    rig_pass(2900 * MILLISECOND);
    rig_acquire("a", 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->lease_ms, 100);
    rig_integer(PIPELINE, 1);
    int reason = 0;
    rig_pass(SECOND);
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, &reason), 1);
    CHECK_EQ_INT(reason, REDLATCH_REASON_MAX_HOLD);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    }
    rig_drain_background();
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE); /* the hold was lost while its renewal was in flight */
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void one_command_of_a_hold_is_in_flight_at_a_time(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    struct call *second = rig_acquire("a", 1);
    struct call *third = rig_acquire("a", 1);
    struct call *extension = rig_extend("a", 1, 50000);
    struct call *release = rig_release("a", 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->count, 2);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_integer(PIPELINE, 1);
    CHECK(second->done && !third->done);
    CHECK_EQ_INT(rig_send(PIPELINE)->count, 3);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_EXTEND);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(extension->status, REDLATCH_OK);
    CHECK_EQ_INT(rig_send(PIPELINE)->count, 2);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    CHECK_EQ_INT(hold->count, 2);
    rig_end("a", 1);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* The extension that waited finds that the lease has ended. The release that waited behind it ends the hold
 * meanwhile. */
static void a_hold_that_ends_while_its_calls_go_on_ends_once(void) {
    rig_open();
    rig_grant_for("a", 1, 1000);
    reenter("a", 1, 1000);
    struct call *unsent = rig_extend("a", 1, 10000);
    struct call *extension = rig_extend("a", 1, 10000);
    struct call *given_up = rig_release("a", 1);
    rig_abort(given_up, REDLATCH_TIMEOUT); /* goes on in the background */
    struct call *release = rig_release("a", 1);
    rig.now += 2 * SECOND; /* timers run late */
    rig_abort(unsent, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(extension->status, REDLATCH_NOT_OWNED);
    CHECK_EQ_INT(release->status, REDLATCH_LOST);
    CHECK_EQ_INT(rig.engine.stats.held, 0);
    RIG_CLOSE();
}

static void what_waits_for_a_release_starts_over(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *extension = rig_extend("a", 1, 50000);
    rig_send(PIPELINE);
    struct call *release = rig_release("a", 1);
    struct call *acquire = rig_acquire("a", 1);
    struct call *late = rig_extend("a", 1, 50000);
    rig_integer(PIPELINE, 1); /* the reply to the extension; the release is sent next */
    CHECK_EQ_INT(extension->status, REDLATCH_OK);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    CHECK_EQ_INT(late->status, REDLATCH_NOT_OWNED);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(acquire->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void an_acquire_during_the_release_is_a_new_hold(void) {
    rig_open();
    uint64_t first = rig_grant("a", 1)->id;
    rig_release("a", 1);
    struct call *call = rig_acquire_named("a", 1);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_NOT_OWNED);
    rig_send(PIPELINE);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    rig_nil(PIPELINE);
    CHECK(call->status == REDLATCH_OK && call->id > first);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void who_holds_nothing_gets_not_owned(void) {
    rig_open();
    rig_grant("a", 1);
    CHECK_EQ_INT(rig_release("a", 2)->status, REDLATCH_NOT_OWNED);
    CHECK_EQ_INT(rig_extend("a", 2, 1000)->status, REDLATCH_NOT_OWNED);
    CHECK_EQ_INT(rig_release("b", 1)->status, REDLATCH_NOT_OWNED);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_shortening_extension_counts_from_its_start(void) {
    rig_open();
    struct hold *hold = rig_grant_for("a", 1, 60000);
    rig_extend("a", 1, 1000);
    CHECK_EQ_INT(hold->deadline, lease_deadline(rig.now, 1000)); /* the server may carry it out at any moment */
    CHECK_EQ_INT(hold->renew_at, NEVER);
    rig_pass(100 * MILLISECOND);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(hold->deadline, lease_deadline(rig.now, 1000));
    rig_end("a", 1);
    RIG_CLOSE();
}

static void an_extension_waits_for_the_renewal_under_way(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    rig_pass(10 * SECOND);
    CHECK(rig_send(PIPELINE_BACKGROUND) != NULL);
    struct call *extension = rig_extend("a", 1, 1000);
    CHECK_EQ_INT(extension->operation->phase, PHASE_WAITING);
    CHECK(rig_send(PIPELINE) == NULL);
    const int64_t before[] = {20000};
    rig_integers(PIPELINE_BACKGROUND, before, 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_EXTEND);
    rig_pass(900 * MILLISECOND);
    CHECK(rig_send(PIPELINE_BACKGROUND) == NULL); /* and no renewal is sent before the reply to the extension */
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(extension->status, REDLATCH_OK);
    CHECK(hold->renew_at <= rig.now + SECOND);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void an_extension_given_up_before_sending_restores_the_deadline(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    int64_t deadline = hold->deadline;
    struct call *extension = rig_extend("a", 1, 1000);
    rig_abort(extension, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(extension->status, REDLATCH_UNREACHABLE);
    CHECK_EQ_INT(hold->deadline, deadline);
    CHECK_EQ_INT(hold->renew_at, rig.now + 10 * SECOND);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_call_given_up_is_done_before_those_behind_it(void) {
    rig_open();
    struct hold *hold = rig_grant_for("a", 1, 1000);
    struct call *unsent = rig_extend("a", 1, 10000);
    struct call *release = rig_release("a", 1);
    rig.now = hold->deadline; /* timers run late */
    rig_abort(unsent, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(release->status, REDLATCH_LOST);
    CHECK(unsent->done && unsent->nth < release->nth);
    RIG_CLOSE();
}

static void a_reentry_given_up_after_sending_is_stated_again(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    struct call *waiting = rig_release("a", 1);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    struct command *undo = rig_send(PIPELINE);
    CHECK(undo->kind == COMMAND_RELEASE && undo->count == 1 && undo->id == hold->id);
    CHECK_EQ_INT(rig.engine.stats.compensations, 1);
    rig_integer(PIPELINE, 1);
    CHECK(rig_send(PIPELINE) == NULL); /* nothing is sent before the reply to the undo */
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(hold->count, 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->count, 0);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(waiting->status, REDLATCH_OK);
    RIG_CLOSE();
}

/* The server still has the hold, so it is released there. After an error reply that says that the release may have run,
 * the release is sent once more. */
static void a_reentry_of_a_hold_that_ended_meanwhile_is_given_back(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_pass(40 * SECOND);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(call->status, REDLATCH_LOST);
    struct command *release = rig_send(PIPELINE);
    CHECK(release->kind == COMMAND_RELEASE && release->count == 0 && !release->hold);
    CHECK(!release->repeated);
    rig_error(PIPELINE, "ERR value is not an integer script: 00, on @user_script:3.");
    rig_pass(SECOND);
    release = rig_send(PIPELINE);
    CHECK(release && release->kind == COMMAND_RELEASE && release->repeated);
    rig_integer(PIPELINE, 1);
    rig_drain_background();
    rig_end("a", 1);
    RIG_CLOSE();
}

static void an_abandoned_reentry_is_not_repeated_behind_its_undo(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "ERR value is not an integer script: 00, on @user_script:3.");
    rig_integer(PIPELINE, 1);
    rig_pass(SECOND);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_waiting_call_can_be_given_up(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *second = rig_acquire("a", 1);
    struct call *third = rig_acquire("a", 1);
    rig_abort(third, REDLATCH_CANCELLED);
    CHECK_EQ_INT(third->status, REDLATCH_CANCELLED);
    rig_abort(second, REDLATCH_CANCELLED); /* not sent yet, so it is dropped */
    CHECK(rig_send(PIPELINE) == NULL);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_release_given_up_goes_on(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *release = rig_release("a", 1);
    rig_abort(release, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(release->status, REDLATCH_UNREACHABLE);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void a_release_that_finds_nothing_is_lost(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *release = rig_release("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(release->status, REDLATCH_LOST);
    RIG_CLOSE();
}

static void a_refused_release_is_repeated(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *release = rig_release("a", 1);
    struct command *command = rig_send(PIPELINE);
    rig_error(PIPELINE, "OOM command not allowed when used memory > 'maxmemory'.");
    CHECK(!release->done && rig_send(PIPELINE) == NULL);
    rig_abort(release, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(release->status, REDLATCH_SERVER_OUT_OF_MEMORY);
    rig_pass(10 * MILLISECOND); /* also if nobody waits for it, for as long as the lease may last */
    CHECK(rig_send(PIPELINE) == command);
    rig_error(PIPELINE, "OOM command not allowed when used memory > 'maxmemory'.");
    rig_pass(30 * MILLISECOND);
    CHECK(rig_send(PIPELINE) == command);
    CHECK(!command->repeated); /* a refused command did not run, so a hold that is absent was lost */
    rig_pass(RIG_LEASE_MS * MILLISECOND);
    rig_error(PIPELINE, "OOM command not allowed when used memory > 'maxmemory'.");
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void a_reentry_refused_for_good_leaves_the_hold_as_it_was(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    struct call *call = rig_acquire("a", 1);
    struct call *release = rig_release("a", 1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "NOAUTH Authentication required.");
    CHECK_EQ_INT(call->status, REDLATCH_AUTHENTICATION);
    CHECK_EQ_INT(hold->count, 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->count, 0);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    RIG_CLOSE();
}

static void a_release_on_another_type_is_lost(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *release = rig_release("a", 1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "WRONGTYPE Operation against a key holding the wrong kind of value");
    CHECK_EQ_INT(release->status, REDLATCH_LOST);
    RIG_CLOSE();
}

static void what_may_have_run_is_sent_again_once(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *call = rig_acquire("a", 1);
    struct command *command = rig_send(PIPELINE);
    rig_error(PIPELINE, "ERR failed script: 00, on @user_script:3.");
    rig_pass(10 * MILLISECOND);
    CHECK(rig_send(PIPELINE) == command);
    CHECK(command->repeated);
    rig_error(PIPELINE, "ERR failed script: 00, on @user_script:3.");
    CHECK_EQ_INT(call->status, REDLATCH_SERVER);
    CHECK_EQ_INT(rig_send(PIPELINE)->count, 1); /* states the hold count again */
    rig_integer(PIPELINE, 1);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void an_answer_of_another_kind_ends_the_call(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *call = rig_extend("a", 1, 1000);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK(call->done && call->status != REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void an_uncollected_grant_is_given_back(void) {
    rig_open();
    struct call *call = granted_to_host("a", 7);
    CHECK(call->done && call->operation); /* the engine waits for its claim */
    rig_pass((RIG_CLAIM_MS - 1) * MILLISECOND);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_pass(MILLISECOND);
    CHECK_EQ_INT(call->operation->status, REDLATCH_UNCLAIMED);
    CHECK_EQ_INT(call->operation->granted, 0);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
    rig_integer(PIPELINE, 1);
    rig_claim(call); /* a late claim does no harm */
    RIG_CLOSE();
}

static void a_collected_grant_stays(void) {
    rig_open();
    struct call *call = granted_to_host("a", 7);
    rig_claim(call);
    rig_pass((RIG_CLAIM_MS + 1000) * MILLISECOND);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_end("a", 7);
    RIG_CLOSE();
}

static void a_grant_released_before_it_is_collected_is_over(void) {
    rig_open();
    struct call *call = granted_to_host("a", 7);
    rig_end("a", 7);
    CHECK_EQ_INT(call->operation->granted, 0);
    rig_claim(call);
    RIG_CLOSE();
}

static void giving_back_waits_for_the_command_under_way(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    engine_give_back(&rig.engine, hold, rig.now);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    struct command *command = rig_send(PIPELINE);
    CHECK(command->kind == COMMAND_RELEASE && command->count == 0);
    engine_give_back(&rig.engine, hold, rig.now); /* twice does no harm */
    CHECK(rig_send(PIPELINE) == NULL);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void giving_back_waits_for_memory_until_the_lease_ends(void) {
    for (int freed = 0; freed < 2; freed++) {
        rig_open();
        struct hold *hold = rig_grant("a", 1);
        uint32_t reserved = rig.engine.reserved_commands;
        rig.engine.reserved_commands = rig.engine.command_pool_size; /* as if other calls had reserved them all */
        engine_give_back(&rig.engine, hold, rig.now);
        CHECK_EQ_INT(hold->renew_at, NEVER);
        rig_pass(freed ? 0 : RIG_LEASE_MS * MILLISECOND);
        rig.engine.reserved_commands = reserved;
        rig_pass(MILLISECOND);
        CHECK(rig_send(PIPELINE_BACKGROUND) == NULL && (rig_send(PIPELINE) != NULL) == freed);
        if (freed) {
            rig_integer(PIPELINE, 1);
        }
        CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), !freed);
        CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_NOT_OWNED); /* it was given back: no owner will release it */
        RIG_CLOSE();
    }
}

static void a_hold_given_back_and_lost_is_forgotten(void) {
    static const enum operation_kind kinds[] = {OPERATION_ACQUIRE, OPERATION_RELEASE};
    for (int i = 0; i < 2; i++) {
        rig_open();
        struct hold *hold = rig_grant("a", 1);
        reenter("a", 1, REDLATCH_RENEWED);
        struct call *call = rig_call(kinds[i], "a", 1);
        rig_start(call);
        rig_send(PIPELINE);
        engine_give_back(&rig.engine, hold, rig.now);
        rig_integer(PIPELINE, 0);
        CHECK_EQ_INT(call->status, REDLATCH_LOST);
        CHECK(rig_name("a")->holds == NULL);
        CHECK(rig_send(PIPELINE) == NULL);
        RIG_CLOSE();
    }
}

static void giving_up_what_is_done_changes_nothing(void) {
    rig_open();
    struct call *call = granted_to_host("a", 7);
    rig_abort(call, REDLATCH_CANCELLED);
    CHECK_EQ_INT(call->operation->status, REDLATCH_OK);
    rig_claim(call);
    rig_end("a", 7);
    RIG_CLOSE();
}

/* The reserve of a call cannot be used up. If it were used up all the same, the call would end with NO_MEMORY. */
static void a_call_without_a_command_says_no_memory(void) {
    static const enum operation_kind kinds[] = {OPERATION_ACQUIRE, OPERATION_RELEASE, OPERATION_EXTEND};
    for (int i = 0; i < 3; i++) {
        rig_open();
        rig_grant("a", 1);
        rig_acquire("a", 1);
        rig_send(PIPELINE);
        rig_integer(PIPELINE, 1);
        rig_extend("a", 1, 5000);
        rig_send(PIPELINE);
        struct call *call = rig_call(kinds[i], "a", 1);
        call->operation->lease_ms = kinds[i] == OPERATION_EXTEND ? 5000 : REDLATCH_RENEWED;
        rig_start(call);
        struct engine *engine = &rig.engine;
        struct list spare;
        uint32_t count = engine->command_pool_size;
        list_init(&spare);
        while (!list_is_empty(&engine->command_pool)) {
            list_append(&spare, list_pop(&engine->command_pool));
        }
        engine->command_pool_size = 0;
        engine->reserved_commands -= call->operation->reserved_commands;
        call->operation->reserved_commands = 0;
        rig_integer(PIPELINE, 1);
        CHECK_EQ_INT(call->status, REDLATCH_NO_MEMORY);
        engine->command_pool_size += count;
        while (!list_is_empty(&spare)) {
            list_append(&engine->command_pool, list_pop(&spare));
        }
        rig_release("a", 1);
        rig_send(PIPELINE);
        rig_integer(PIPELINE, 1);
        rig_end("a", 1);
        RIG_CLOSE();
    }
}

int main(void) {
    RUN(hold_counts_are_stated_not_added);
    RUN(a_shorter_nested_acquire_leaves_the_lease_as_it_is);
    RUN(a_hold_is_renewed_while_a_nested_acquire_without_a_lease_lasts);
    RUN(a_bounded_hold_asks_for_no_more_than_what_is_left);
    RUN(one_command_of_a_hold_is_in_flight_at_a_time);
    RUN(a_hold_that_ends_while_its_calls_go_on_ends_once);
    RUN(what_waits_for_a_release_starts_over);
    RUN(an_acquire_during_the_release_is_a_new_hold);
    RUN(who_holds_nothing_gets_not_owned);
    RUN(a_shortening_extension_counts_from_its_start);
    RUN(an_extension_waits_for_the_renewal_under_way);
    RUN(an_extension_given_up_before_sending_restores_the_deadline);
    RUN(a_call_given_up_is_done_before_those_behind_it);
    RUN(a_reentry_given_up_after_sending_is_stated_again);
    RUN(a_reentry_of_a_hold_that_ended_meanwhile_is_given_back);
    RUN(an_abandoned_reentry_is_not_repeated_behind_its_undo);
    RUN(a_waiting_call_can_be_given_up);
    RUN(a_release_given_up_goes_on);
    RUN(a_release_that_finds_nothing_is_lost);
    RUN(a_refused_release_is_repeated);
    RUN(a_reentry_refused_for_good_leaves_the_hold_as_it_was);
    RUN(a_release_on_another_type_is_lost);
    RUN(what_may_have_run_is_sent_again_once);
    RUN(an_answer_of_another_kind_ends_the_call);
    RUN(an_uncollected_grant_is_given_back);
    RUN(a_collected_grant_stays);
    RUN(a_grant_released_before_it_is_collected_is_over);
    RUN(giving_back_waits_for_the_command_under_way);
    RUN(giving_back_waits_for_memory_until_the_lease_ends);
    RUN(a_hold_given_back_and_lost_is_forgotten);
    RUN(giving_up_what_is_done_changes_nothing);
    RUN(a_call_without_a_command_says_no_memory);
    return unit_done();
}
