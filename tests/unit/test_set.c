/* Sets of several names: each row of the tables at the heads of set.c and set_release.c, but for releases.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

static struct call *try_all(const char *letters, uint64_t owner) {
    struct call *call = rig_set_call(OPERATION_ACQUIRE, letters, owner);
    call->operation->non_blocking = true;
    rig_start(call);
    return call;
}

static struct hold *hold_of(const char *name, uint64_t owner) {
    return resource_hold_of(rig_name(name), rig.lock_kind, owner);
}

static void grant(const char *letters, uint64_t owner) {
    struct call *call = rig_acquire_all(letters, owner);
    rig_send(PIPELINE);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
}

/* Sends a release, and answers it with 2 for each name, as with one subscriber. */
static void released(const char *letters) {
    int64_t found[ENTRIES_MAX];
    size_t count = strlen(letters);
    for (size_t i = 0; i < count; i++) {
        found[i] = 2;
    }
    rig_send(PIPELINE);
    rig_integers(PIPELINE, found, count);
}

static void end_all(const char *letters, uint64_t owner) {
    struct call *call = rig_release_all(letters, owner);
    released(letters);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
}

static void all_are_granted_by_one_command_and_released_by_one(void) {
    rig_open();
    struct call *call = rig_acquire_all("abc", 1);
    struct command *command = rig_send(PIPELINE);
    CHECK_EQ_INT(command->kind, COMMAND_ACQUIRE_MANY);
    CHECK_EQ_INT(command->entry_count, 3);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK_EQ_INT(rig.engine.stats.held, 3);
    CHECK(hold_of("a", 1)->id != hold_of("b", 1)->id);
    CHECK(hold_of("c", 1)->in_set && !hold_of("c", 1)->single_grant);
    struct call *end = rig_release_all("abc", 1);
    command = rig_send(PIPELINE);
    CHECK_EQ_INT(command->kind, COMMAND_RELEASE_MANY);
    CHECK_EQ_INT(command->entries->entry[1].count, 0);
    CHECK(hold_of("a", 1) == NULL); /* being released */
    rig_integers(PIPELINE, (const int64_t[]){1, 1, 1}, 3);
    CHECK_EQ_INT(end->status, REDLATCH_OK);
    RIG_CLOSE();
}

static void a_try_that_meets_a_holder_times_out(void) {
    rig_open();
    struct call *call = try_all("abc", 1);
    rig_send(PIPELINE);
    rig_contended(PIPELINE, 2, 5000);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(rig.engine.stats.held, 0);
    RIG_CLOSE();
}

static void it_waits_beside_the_queue_of_the_name_that_is_in_the_way(void) {
    rig_open();
    struct call *call = rig_acquire_all("abc", 1);
    rig_send(PIPELINE);
    rig_contended(PIPELINE, 2, 60000);
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    CHECK(rig_wait_queue("a") == NULL && rig_wait_queue("b") != NULL);
    CHECK_EQ_INT(rig_subscriptions(), 1);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING); /* "b" may have been freed before the subscription */
    rig_send(PIPELINE);
    rig_contended(PIPELINE, 2, 60000);
    rig_message("b");
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE_MANY);
    rig_contended(PIPELINE, 3, 60000); /* now another name is in the way */
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    CHECK(rig_wait_queue("c") != NULL);
    rig_message("b");
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    rig_subscriptions();
    rig_send(PIPELINE);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK_EQ_INT(rig.engine.stats.waiters, 0);
    end_all("abc", 1);
    RIG_CLOSE();
}

static void a_message_while_it_asks_makes_it_ask_again(void) {
    rig_open();
    struct call *call = rig_acquire_all("ab", 1);
    rig_send(PIPELINE);
    rig_contended(PIPELINE, 1, 60000);
    rig_subscriptions();
    rig_send(PIPELINE);
    rig_message("a");
    rig_contended(PIPELINE, 1, 60000);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    rig_send(PIPELINE);
    rig_granted(PIPELINE);
    end_all("ab", 1);
    RIG_CLOSE();
}

static void of_several_that_wait_for_a_name_one_rechecks_and_then_the_next(void) {
    rig_open();
    struct call *first = rig_acquire_all("ab", 1);
    struct call *second = rig_acquire_all("ac", 2);
    for (int i = 0; i < 2; i++) {
        rig_send(PIPELINE);
        rig_contended(PIPELINE, 1, 60000);
    }
    rig_subscriptions();
    for (int i = 0; i < 2; i++) {
        rig_send(PIPELINE);
        rig_contended(PIPELINE, 1, 60000);
    }
    rig_message("a");
    CHECK_EQ_INT(first->operation->phase, PHASE_REQUESTING);
    CHECK_EQ_INT(second->operation->phase, PHASE_PARKED);
    rig_send(PIPELINE);
    rig_contended(PIPELINE, 2, 60000); /* the first now waits for another name, so the second rechecks */
    CHECK_EQ_INT(second->operation->phase, PHASE_REQUESTING);
    rig_send(PIPELINE);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(second->status, REDLATCH_OK);
    rig_abort(first, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(first->status, REDLATCH_TIMEOUT);
    end_all("ac", 2);
    RIG_CLOSE();
}

static void one_that_gives_up_undoes_all_on_the_same_pipeline(void) {
    rig_open();
    struct call *call = rig_acquire_all("ab", 1);
    struct command *requested = rig_send(PIPELINE);
    uint64_t id = requested->entries->entry[1].id;
    rig_abort(call, REDLATCH_CANCELLED);
    CHECK_EQ_INT(call->status, REDLATCH_CANCELLED);
    struct command *undo = rig_send(PIPELINE);
    CHECK_EQ_INT(undo->kind, COMMAND_RELEASE_MANY);
    CHECK_EQ_INT(undo->entry_count, 2);
    CHECK_EQ_INT((int64_t)undo->entries->entry[1].id, (int64_t)id);
    CHECK_EQ_INT(undo->entries->entry[1].count, 0);
    rig_granted(PIPELINE);
    rig_integers(PIPELINE, (const int64_t[]){1, 1}, 2);
    CHECK_EQ_INT(rig.engine.stats.held, 0);
    RIG_CLOSE();
}

static void one_that_was_never_sent_needs_no_undo(void) {
    rig_open();
    struct call *call = rig_acquire_all("ab", 1);
    rig_abort(call, REDLATCH_CANCELLED);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void a_hold_of_the_owner_is_raised_and_lowered_by_its_line(void) {
    rig_open();
    struct hold *single = rig_grant("b", 1);
    struct call *call = rig_acquire_all("abc", 1);
    struct command *command = rig_send(PIPELINE);
    CHECK_EQ_INT(command->entries->entry[1].count, 2);
    CHECK_EQ_INT((int64_t)command->entries->entry[1].id, (int64_t)single->id);
    CHECK(single->busy == command);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK_EQ_INT(single->count, 2);
    CHECK(single->busy == NULL && single->single_grant && single->in_set);
    struct call *end = rig_release_all("abc", 1);
    command = rig_send(PIPELINE);
    CHECK_EQ_INT(command->entries->entry[1].count, 1);
    rig_integers(PIPELINE, (const int64_t[]){1, 1, 1}, 3);
    CHECK_EQ_INT(end->status, REDLATCH_OK);
    CHECK_EQ_INT(single->count, 1);
    rig_end("b", 1);
    RIG_CLOSE();
}

static void the_undo_of_a_raised_hold_states_its_hold_count_again(void) {
    rig_open();
    struct hold *single = rig_grant("b", 1);
    struct call *call = rig_acquire_all("ab", 1);
    rig_send(PIPELINE);
    rig_abort(call, REDLATCH_CANCELLED);
    struct command *undo = rig_send(PIPELINE);
    CHECK_EQ_INT(undo->entries->entry[0].count, 0);
    CHECK_EQ_INT(undo->entries->entry[1].count, 1);
    CHECK(single->busy == undo);
    rig_granted(PIPELINE);
    rig_integers(PIPELINE, (const int64_t[]){1, 1}, 2);
    CHECK(single->busy == NULL);
    CHECK_EQ_INT(single->count, 1);
    rig_end("b", 1);
    RIG_CLOSE();
}

static void a_raised_hold_that_the_server_forgot_is_lost(void) {
    rig_open();
    rig_grant("b", 1);
    struct call *call = rig_acquire_all("ab", 1);
    rig_send(PIPELINE);
    rig_contended(PIPELINE, 2, -3);
    CHECK_EQ_INT(call->status, REDLATCH_LOST);
    CHECK_EQ_INT(hold_of("b", 1)->stage, HOLD_GONE);
    struct call *end = rig_release("b", 1);
    CHECK_EQ_INT(end->status, REDLATCH_LOST);
    RIG_CLOSE();
}

static void it_waits_for_a_hold_whose_command_is_under_way(void) {
    rig_open();
    rig_grant("b", 1);
    struct call *extension = rig_extend("b", 1, 60000);
    struct call *call = rig_acquire_all("ab", 1);
    CHECK_EQ_INT(call->operation->phase, PHASE_WAITING);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(extension->status, REDLATCH_OK);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE_MANY);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    end_all("ab", 1);
    rig_end("b", 1);
    RIG_CLOSE();
}

static void a_grant_older_than_its_lease_is_undone(void) {
    rig_open();
    struct call *call = rig_acquire_all("ab", 1);
    rig_send(PIPELINE);
    rig_pass(RIG_LEASE_MS * MILLISECOND);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_LOST);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE_MANY);
    rig_integers(PIPELINE, (const int64_t[]){0, 0}, 2);
    RIG_CLOSE();
}

/* Its owner still has one acquire to release, and learns of the loss then. */
static void a_hold_that_was_lost_while_it_was_raised_is_reported(void) {
    rig_open();
    struct call *first = rig_set_call(OPERATION_ACQUIRE, "ab", 1);
    first->operation->lease_ms = RIG_LEASE_MS;
    rig_start(first);
    rig_send(PIPELINE);
    rig_granted(PIPELINE);
    struct call *call = rig_acquire_all("ab", 1);
    rig_send(PIPELINE);
    rig_pass(RIG_LEASE_MS * MILLISECOND);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_LOST);
    rig_send(PIPELINE);
    rig_integers(PIPELINE, (const int64_t[]){1, 1}, 2);
    CHECK_EQ_INT(hold_of("a", 1)->stage, HOLD_GONE);
    CHECK_EQ_INT(rig_release_all("ab", 1)->status, REDLATCH_LOST);
    CHECK_EQ_INT(rig_release_all("ab", 1)->status, REDLATCH_NOT_OWNED);
    RIG_CLOSE();
}

/* The answer comes before the timer of the hold that ran out. */
static void a_hold_that_ran_out_unseen_while_it_was_raised_is_lost(void) {
    rig_open();
    struct call *first = rig_acquire_for("b", 1, RIG_LEASE_MS);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    rig_pass(RIG_LEASE_MS * MILLISECOND / 2);
    struct call *call = rig_acquire_all("ab", 1);
    rig_send(PIPELINE);
    rig.now += RIG_LEASE_MS * MILLISECOND / 2;
    rig_granted(PIPELINE);
    CHECK_EQ_INT(first->status, REDLATCH_OK);
    CHECK_EQ_INT(call->status, REDLATCH_LOST);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE_MANY);
    rig_integers(PIPELINE, (const int64_t[]){1, 1}, 2);
    CHECK_EQ_INT(rig_release("b", 1)->status, REDLATCH_LOST);
    RIG_CLOSE();
}

/* Peers release a spin lock without a message, so a set also rechecks by timer. It is subscribed for redlatch's. */
static void a_set_that_meets_a_spin_lock_rechecks_four_times_a_second(void) {
    rig_open();
    rig.lock_kind = REDLATCH_SPIN;
    struct call *call = rig_acquire_all("ab", 1);
    rig_send(PIPELINE);
    rig_contended(PIPELINE, 2, 60000);
    CHECK_EQ_INT(rig_wait_queue("b")->subscription.state, SUBSCRIPTION_WANTED);
    CHECK_EQ_INT(call->operation->recheck_at - rig.now, SECOND / 4);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_pass(SECOND / 4);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE_MANY);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    end_all("ab", 1);
    RIG_CLOSE();
}

static void tokens_go_to_the_names_that_have_them(void) {
    rig_open();
    rig.lock_kind = REDLATCH_FENCED;
    struct call *call = rig_acquire_all("ab", 1);
    rig_send(PIPELINE);
    struct reply elements[] = {{.kind = REPLY_INTEGER},
                               {.kind = REPLY_STRING, .text = "7", .size = 1},
                               {.kind = REPLY_STRING, .text = "31", .size = 2}};
    rig_reply(PIPELINE, &(struct reply){.kind = REPLY_ARRAY, .elements = elements, .count = 3});
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK_EQ_INT((int64_t)hold_of("a", 1)->token, 7);
    CHECK_EQ_INT((int64_t)hold_of("b", 1)->token, 31);
    end_all("ab", 1);
    RIG_CLOSE();
}

static void refusals_that_may_pass_are_waited_out(void) {
    rig_open();
    struct call *call = rig_acquire_all("ab", 1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "LOADING Redis is loading the dataset in memory");
    CHECK_EQ_INT(call->operation->phase, PHASE_PAUSED);
    rig_pass(200 * MILLISECOND);
    rig_send(PIPELINE);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    end_all("ab", 1);
    call = rig_acquire_all("ab", 1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "WRONGTYPE Operation against a key holding the wrong kind of value");
    CHECK_EQ_INT(call->status, REDLATCH_WRONG_TYPE);
    RIG_CLOSE();
}

static void an_answer_that_makes_no_sense_is_a_protocol_error(void) {
    rig_open();
    static const int64_t odd[][2] = {{3, 100}, {-1, 100}};
    for (int i = 0; i < 2; i++) {
        struct call *call = rig_acquire_all("ab", 1);
        rig_send(PIPELINE);
        rig_integers(PIPELINE, odd[i], 2);
        CHECK_EQ_INT(call->status, REDLATCH_PROTOCOL);
    }
    RIG_CLOSE();
}

static void a_release_that_is_answered_for_other_names_is_a_protocol_error(void) {
    static const int64_t found[] = {2, 2, 2};
    for (size_t count = 0; count <= 3; count++) {
        rig_open();
        grant("ab", 1);
        struct call *call = rig_release_all("ab", 1);
        rig_send(PIPELINE);
        rig_integers(PIPELINE, found, count);
        CHECK_EQ_INT(call->status, count == 2 ? REDLATCH_OK : REDLATCH_PROTOCOL);
        RIG_CLOSE();
    }
}

/* ------------------------------------------------------------------------------------------------------ in doubt -- */

static void what_a_broken_connection_left_is_sent_again(void) {
    for (int i = RESOLVED_BY_KILL; i <= RESOLVED_BY_RESTART; i++) {
        rig_open();
        struct call *call = rig_acquire_all("ab", 1);
        struct command *command = rig_send(PIPELINE);
        uint64_t id = command->entries->entry[0].id;
        rig_lost(PIPELINE);
        rig_ready(PIPELINE, (enum resolution)i);
        CHECK_EQ_INT((int64_t)rig_send(PIPELINE)->entries->entry[0].id, (int64_t)id);
        rig_granted(PIPELINE);
        CHECK_EQ_INT(call->status, REDLATCH_OK);
        struct call *end = rig_release_all("ab", 1);
        rig_send(PIPELINE);
        rig_lost(PIPELINE);
        rig_ready(PIPELINE, (enum resolution)i);
        rig_send(PIPELINE);
        rig_integers(PIPELINE, (const int64_t[]){0, 0}, 2);
        CHECK_EQ_INT(end->status, REDLATCH_OK); /* the first sending has run */
        RIG_CLOSE();
    }
}

/* Sends an acquire, breaks the connection, and answers the repeat with a holder of the first name. The first sending
 * may have been granted, and an operator may have released one of the names by force since: the grant is undone. */
static void meet_after_a_broken_connection(uint64_t *id_out) {
    struct command *ask = rig_send(PIPELINE);
    CHECK_EQ_INT(ask->kind, COMMAND_ACQUIRE_MANY);
    *id_out = ask->entries->entry[0].id;
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK_EQ_INT((int64_t)rig_send(PIPELINE)->entries->entry[0].id, (int64_t)*id_out);
    rig_contended(PIPELINE, 1, 60000);
    struct command *undo = rig_send(PIPELINE);
    CHECK(undo && undo->kind == COMMAND_RELEASE_MANY);
    for (uint32_t i = 0; undo && i < 2; i++) {
        CHECK_EQ_INT((int64_t)undo->entries->entry[i].id, (int64_t)*id_out + i);
        CHECK_EQ_INT(undo->entries->entry[i].count, 0);
    }
    if (undo) {
        rig_integers(PIPELINE, (const int64_t[]){0, 2}, 2);
    }
}

static void what_was_granted_before_the_connection_broke_is_undone_when_the_repeat_meets_a_holder(void) {
    rig_open();
    uint64_t id, last_id;
    struct call *call = try_all("ab", 1);
    meet_after_a_broken_connection(&last_id);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    call = rig_acquire_all("ab", 1);
    for (int i = 0; i < 10; i++) { /* a waiter's reserve is enough for any number of undos */
        meet_after_a_broken_connection(&id);
        CHECK(id > last_id);
        last_id = id;
        rig_subscriptions(); /* the first time it rechecks after the subscription */
        rig_pass(call->operation->phase == PHASE_PARKED ? 6 * SECOND : 0);
    }
    rig_send(PIPELINE);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    end_all("ab", 1);
    RIG_CLOSE();
}

/* A command that releases retired ids stays in use for as long as a late copy may be granted something. */
static void a_call_whose_reserves_are_all_bound_gets_no_reply(void) {
    rig_open();
    rig.engine.settings.unreachable_timeout_ms = INT32_MAX;
    struct call *call = rig_acquire_all("ab", 1);
    for (int i = 0; i < 100 && !call->done; i++) {
        struct command *command;
        do {
            command = rig_send(PIPELINE);
        } while (command && command->kind != COMMAND_ACQUIRE_MANY);
        rig_lost(PIPELINE);
        rig_ready(PIPELINE, RESOLUTION_DENIED);
    }
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    for (int i = 0; i < 400; i++) {
        rig_pass(SECOND);
        while (rig_send(PIPELINE)) {
            rig_integers(PIPELINE, (const int64_t[]){0, 0}, 2);
        }
    }
    RIG_CLOSE();
}

static void where_kill_is_denied_the_ids_are_retired_and_released_for_a_lease(void) {
    rig_open();
    struct hold *single = rig_grant("b", 1);
    struct call *call = rig_acquire_all("ab", 1);
    uint64_t id = rig_send(PIPELINE)->entries->entry[0].id;
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    struct command *undo = rig_send(PIPELINE);
    CHECK_EQ_INT(undo->kind, COMMAND_RELEASE_MANY);
    CHECK_EQ_INT((int64_t)undo->entries->entry[0].id, (int64_t)id);
    CHECK_EQ_INT(call->operation->phase, PHASE_WAITING); /* waits for the hold that it raises */
    rig_integers(PIPELINE, (const int64_t[]){1, 1}, 2);
    struct command *again = rig_send(PIPELINE);
    CHECK_EQ_INT(again->kind, COMMAND_ACQUIRE_MANY);
    CHECK(again->entries->entry[0].id != id);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK_EQ_INT(single->count, 2);
    rig_pass(SECOND);
    undo = rig_send(PIPELINE);
    CHECK_EQ_INT(undo->kind, COMMAND_RELEASE_MANY);
    CHECK_EQ_INT(undo->entry_count, 1); /* the entry of the hold that goes on is left out */
    CHECK_EQ_INT((int64_t)undo->entries->entry[0].id, (int64_t)id);
    rig_integers(PIPELINE, (const int64_t[]){0}, 1);
    for (int i = 0; i < 40; i++) {
        rig_pass(SECOND);
        rig_drain_background();
        if (rig_send(PIPELINE)) {
            rig_integers(PIPELINE, (const int64_t[]){0}, 1);
        }
    }
    end_all("ab", 1);
    rig_end("b", 1);
    RIG_CLOSE();
}

int main(void) {
    RUN(all_are_granted_by_one_command_and_released_by_one);
    RUN(a_try_that_meets_a_holder_times_out);
    RUN(it_waits_beside_the_queue_of_the_name_that_is_in_the_way);
    RUN(a_message_while_it_asks_makes_it_ask_again);
    RUN(of_several_that_wait_for_a_name_one_rechecks_and_then_the_next);
    RUN(one_that_gives_up_undoes_all_on_the_same_pipeline);
    RUN(one_that_was_never_sent_needs_no_undo);
    RUN(a_hold_of_the_owner_is_raised_and_lowered_by_its_line);
    RUN(the_undo_of_a_raised_hold_states_its_hold_count_again);
    RUN(a_raised_hold_that_the_server_forgot_is_lost);
    RUN(it_waits_for_a_hold_whose_command_is_under_way);
    RUN(a_grant_older_than_its_lease_is_undone);
    RUN(a_hold_that_was_lost_while_it_was_raised_is_reported);
    RUN(a_hold_that_ran_out_unseen_while_it_was_raised_is_lost);
    RUN(tokens_go_to_the_names_that_have_them);
    RUN(a_set_that_meets_a_spin_lock_rechecks_four_times_a_second);
    RUN(refusals_that_may_pass_are_waited_out);
    RUN(an_answer_that_makes_no_sense_is_a_protocol_error);
    RUN(a_release_that_is_answered_for_other_names_is_a_protocol_error);
    RUN(what_a_broken_connection_left_is_sent_again);
    RUN(what_was_granted_before_the_connection_broke_is_undone_when_the_repeat_meets_a_holder);
    RUN(a_call_whose_reserves_are_all_bound_gets_no_reply);
    RUN(where_kill_is_denied_the_ids_are_retired_and_released_for_a_lease);
    return unit_done();
}
