/* Calls while the server is unusable: since when each counts it so, and with which status it ends.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

/* A wait that is shorter than BRIEF_WAIT ends with TIMEOUT, because a missing reply says nothing about the server in
 * that time. */
static void a_short_wait_without_an_answer_is_a_time_out(void) {
    static const enum operation_kind kinds[] = {OPERATION_ACQUIRE, OPERATION_WATCH};
    for (int sent = 0; sent < 2; sent++) {
        for (int brief = 0; brief < 2; brief++) {
            for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
                rig_open();
                struct call *call = rig_call(kinds[i], "a", 1);
                call->operation->wait_until = rig.now + (brief ? 99 : 100) * MILLISECOND;
                rig_start(call);
                if (sent) {
                    rig_send(PIPELINE);
                }
                rig_pass(SECOND); /* as on a busy machine */
                rig_abort(call, REDLATCH_TIMEOUT);
                CHECK_EQ_INT(call->status, brief ? REDLATCH_TIMEOUT : sent ? REDLATCH_NO_REPLY : REDLATCH_UNREACHABLE);
                if (sent) {
                    rig_nil(PIPELINE);
                }
                while (rig_send(PIPELINE)) {
                    rig_integer(PIPELINE, 1);
                }
                RIG_CLOSE();
            }
        }
    }
}

static void a_short_try_without_an_answer_has_no_reply(void) {
    rig_open();
    struct call *call = rig_call(OPERATION_ACQUIRE, "a", 1);
    call->operation->non_blocking = true;
    call->operation->wait_until = rig.now + 50 * MILLISECOND;
    rig_start(call);
    rig_send(PIPELINE);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    rig_nil(PIPELINE);
    while (rig_send(PIPELINE)) {
        rig_integer(PIPELINE, 1);
    }
    RIG_CLOSE();
}

/* A silent server counts as unusable since the request was sent, not since the connection was given up. */
static void a_wait_without_end_counts_from_the_question(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_pass(10 * SECOND);
    rig_lost(PIPELINE);
    rig_pass(RIG_UNREACHABLE_MS * MILLISECOND - 10 * SECOND - 1);
    CHECK(!call->done);
    rig_pass(1);
    CHECK(call->done);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    while (rig_send(PIPELINE)) {
        rig_integer(PIPELINE, 0);
    }
    RIG_CLOSE();
}

/* A waiter behind the foremost has no command that could fail. What the foremost found of the server holds for it, too,
 * from the time at which its own wait began. */
static void all_waiters_of_a_name_count_the_server_as_unusable(void) {
    struct call *calls[3];
    rig_open();
    for (uint64_t i = 0; i < 3; i++) {
        calls[i] = rig_acquire("a", i + 1);
        if (i == 1) {
            rig_failed(PIPELINE, REDLATCH_UNREACHABLE);
            rig_pass(SECOND);
        }
    }
    rig_pass(RIG_UNREACHABLE_MS * MILLISECOND - SECOND);
    CHECK_EQ_INT(calls[0]->status, REDLATCH_UNREACHABLE);
    CHECK_EQ_INT(calls[1]->status, REDLATCH_UNREACHABLE);
    CHECK(!calls[2]->done);
    rig_pass(SECOND);
    CHECK_EQ_INT(calls[2]->status, REDLATCH_UNREACHABLE);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

/* Nobody said that another owner holds the lock. The waiter behind the foremost has sent nothing, so nothing of it may
 * have run. */
static void a_timeout_behind_a_waiter_without_a_server_says_so(void) {
    static const int errors[] = {REDLATCH_UNREACHABLE, REDLATCH_NO_REPLY, REDLATCH_SERVER_OUT_OF_MEMORY};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        int expected = errors[i] == REDLATCH_NO_REPLY ? REDLATCH_UNREACHABLE : errors[i];
        rig_open();
        struct call *first = rig_acquire("a", 1);
        struct call *second = rig_acquire("a", 2);
        if (errors[i] == REDLATCH_UNREACHABLE) {
            rig_failed(PIPELINE, REDLATCH_UNREACHABLE);
        } else {
            rig_send(PIPELINE);
        }
        if (errors[i] == REDLATCH_NO_REPLY) {
            rig_lost(PIPELINE);
            rig_ready(PIPELINE, RESOLVED_BY_KILL);
        } else if (errors[i] == REDLATCH_SERVER_OUT_OF_MEMORY) {
            rig_error(PIPELINE, "OOM command not allowed");
        }
        CHECK_EQ_INT(rig_try("a", 3)->status, expected);
        rig_abort(second, REDLATCH_TIMEOUT);
        CHECK_EQ_INT(second->status, expected);
        rig_abort(first, REDLATCH_TIMEOUT);
        CHECK_EQ_INT(first->status, errors[i]);
        while (rig_send(PIPELINE)) {
            rig_integer(PIPELINE, 0);
        }
        RIG_CLOSE();
    }
}

/* The waiter behind the one that gave up rechecks at once, even if this process holds the lock: otherwise it would not
 * learn in time that the server replies again. */
static void who_takes_over_a_dead_wait_rechecks_at_once(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *first = rig_acquire("a", 2);
    struct call *second = rig_acquire("a", 3);
    rig_subscriptions();
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig_pass(RIG_UNREACHABLE_MS * MILLISECOND - SECOND);
    rig_abort(first, REDLATCH_TIMEOUT);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    while (rig_send(PIPELINE)) {
        rig_integer(PIPELINE, 60000);
    }
    rig_drain_background();
    rig_pass(2 * SECOND);
    CHECK(!second->done);
    rig_abort(second, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(second->status, REDLATCH_TIMEOUT);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* The nested acquire of an owner has no limit of its own. The server refuses it for as long as its memory is full. */
static void a_nested_acquire_does_not_wait_for_ever_for_memory(void) {
    rig_open();
    const struct hold *hold = rig_grant("a", 1);
    struct call *call = rig_acquire("a", 1);
    int64_t end = rig.now + (RIG_UNREACHABLE_MS + 1000) * MILLISECOND;
    while (!call->done && rig.now < end) {
        while (rig_send(PIPELINE)) {
            rig_error(PIPELINE, "OOM command not allowed");
        }
        rig_drain_background();
        rig_pass(10 * MILLISECOND);
    }
    CHECK_EQ_INT(call->status, REDLATCH_SERVER_OUT_OF_MEMORY);
    CHECK_EQ_INT(hold->count, 1);
    rig_drain_background();
    while (rig_send(PIPELINE)) {
        rig_integer(PIPELINE, 1);
    }
    rig_end("a", 1);
    RIG_CLOSE();
}

/* A command of a hold that the server refuses without running it ends with the hold. */
static void what_is_refused_ends_with_the_loss_of_the_hold(void) {
    for (int extends = 0; extends < 2; extends++) {
        rig_open();
        rig_grant_for("a", 1, 1000);
        struct call *call = extends ? rig_extend("a", 1, 1000) : rig_acquire("a", 1);
        int64_t end = rig.now + 2 * SECOND;
        while (!call->done && rig.now < end) {
            while (rig_send(PIPELINE)) {
                rig_error(PIPELINE, "OOM command not allowed");
            }
            rig_pass(10 * MILLISECOND);
        }
        CHECK_EQ_INT(call->status, REDLATCH_LOST);
        CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
        RIG_CLOSE();
    }
}

/* A command of a hold finds on the server what was lost here, and becomes its release. That is repeated for a lease,
 * whatever the command was. */
static void the_release_of_what_was_lost_is_repeated(void) {
    for (int i = 0; i < 3; i++) {
        rig_open();
        rig_grant_for("a", 1, 1000);
        struct call *nested = rig_acquire_for("a", 1, 1000);
        rig_send(PIPELINE);
        rig_integer(PIPELINE, 1);
        CHECK_EQ_INT(nested->status, REDLATCH_OK);
        struct call *call = i == 0 ? rig_release("a", 1) : i == 1 ? rig_extend("a", 1, 1) : rig_acquire_for("a", 1, 1);
        rig_send(PIPELINE);
        rig_pass(2 * SECOND);
        rig_integer(PIPELINE, 1);
        CHECK_EQ_INT(call->status, REDLATCH_LOST);
        struct command *release = rig_send(PIPELINE);
        CHECK(release->kind == COMMAND_RELEASE && release->count == 0);
        rig_error(PIPELINE, "LOADING the data");
        rig_pass(SECOND);
        release = rig_send(PIPELINE);
        CHECK(release && release->kind == COMMAND_RELEASE && release->count == 0);
        rig_integer(PIPELINE, 1);
        rig_drain_background();
        while (rig_release("a", 1)->status == REDLATCH_LOST) {
        }
        RIG_CLOSE();
    }
}

int main(void) {
    RUN(a_short_wait_without_an_answer_is_a_time_out);
    RUN(a_short_try_without_an_answer_has_no_reply);
    RUN(a_wait_without_end_counts_from_the_question);
    RUN(all_waiters_of_a_name_count_the_server_as_unusable);
    RUN(a_timeout_behind_a_waiter_without_a_server_says_so);
    RUN(who_takes_over_a_dead_wait_rechecks_at_once);
    RUN(a_nested_acquire_does_not_wait_for_ever_for_memory);
    RUN(what_is_refused_ends_with_the_loss_of_the_hold);
    RUN(the_release_of_what_was_lost_is_repeated);
    return unit_done();
}
