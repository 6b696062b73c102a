/* Fencing tokens in the engine: which hold has which token, and which commands request one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

static void rig_open_fenced(void) {
    rig_open();
    rig.lock_kind = REDLATCH_FENCED;
}

/* Replies with a token. Tokens are strings, because they may be larger than the integers of a script. */
static void answer(const char *text) {
    struct reply reply = {.kind = REPLY_STRING, .text = text, .size = strlen(text)};
    rig_reply(PIPELINE, &reply);
}

static struct call *granted(const char *token) {
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    answer(token);
    return call;
}

static void a_grant_comes_with_its_token(void) {
    rig_open_fenced();
    struct call *call = granted("7");
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK_EQ_INT(call->hold->token, 7);
    rig_end("a", 1);
    call = granted("9007199254740993"); /* beyond the integers that a double has exactly */
    CHECK_EQ_INT(call->hold->token, INT64_C(9007199254740993));
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_nested_acquire_keeps_the_token(void) {
    rig_open_fenced();
    struct hold *hold = granted("7")->hold;
    rig_acquire("a", 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_REENTER);
    rig_integer(PIPELINE, 1);
    CHECK(hold->count == 2 && hold->token == 7);
    rig_release("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    CHECK(hold->count == 1 && hold->token == 7);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void what_is_no_token_is_no_grant(void) {
    static const char *const texts[] = {"", "-1", "7a", "12345678901234567890"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        rig_open_fenced();
        struct call *call = granted(texts[i]);
        CHECK_EQ_INT(call->status, REDLATCH_PROTOCOL);
        CHECK(call->hold == NULL);
        RIG_CLOSE();
    }
}

static void a_broken_connection_asks_with_the_same_id(void) {
    rig_open_fenced();
    struct call *call = rig_acquire("a", 1);
    uint64_t id = rig_send(PIPELINE)->id;
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    struct command *again = rig_send(PIPELINE);
    CHECK(again->kind == COMMAND_ACQUIRE && again->id == id);
    answer("3");
    CHECK(call->status == REDLATCH_OK && call->hold->token == 3);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* Owner 1 holds the lock, and owner 2 is parked behind it. `token_from_time` says whether the token of owner 2 is to be
 * no smaller than the server's time. */
static struct call *waiter_behind(bool token_from_time) {
    granted("7");
    struct call *waiter = rig_call(OPERATION_ACQUIRE, "a", 2);
    waiter->operation->token_from_time = token_from_time;
    rig_start(waiter);
    rig_park(30000);
    return waiter;
}

static void a_hand_over_brings_the_next_token(void) {
    for (int from_time = 0; from_time < 2; from_time++) {
        rig_open_fenced();
        struct call *waiter = waiter_behind(from_time);
        struct call *release = rig_release("a", 1);
        struct command *command = rig_send(PIPELINE);
        CHECK(command->kind == COMMAND_HAND_OVER && command->lock_kind == REDLATCH_FENCED);
        CHECK_EQ_INT(command->token_from_time, from_time);
        answer("8");
        CHECK_EQ_INT(release->status, REDLATCH_OK);
        CHECK(waiter->status == REDLATCH_OK && waiter->hold->token == 8);
        rig_end("a", 2);
        RIG_CLOSE();
    }
}

static void a_hand_over_of_a_lost_hold_brings_none(void) {
    rig_open_fenced();
    struct call *waiter = waiter_behind(false);
    struct call *release = rig_release("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(release->status, REDLATCH_LOST);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE);
    answer("8");
    CHECK(waiter->status == REDLATCH_OK && waiter->hold->token == 8);
    rig_end("a", 2);
    RIG_CLOSE();
}

static void a_hand_over_that_nobody_waits_for_leaves_no_token(void) {
    rig_open_fenced();
    struct call *waiter = waiter_behind(false);
    struct call *release = rig_release("a", 1);
    uint64_t successor = rig_send(PIPELINE)->successor;
    rig_abort(waiter, REDLATCH_CANCELLED);
    struct command *undo = rig_send(PIPELINE);
    CHECK(undo->kind == COMMAND_RELEASE && undo->id == successor);
    answer("8");
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    CHECK_EQ_INT(waiter->status, REDLATCH_CANCELLED);
    CHECK(waiter->hold == NULL);
    CHECK_EQ_INT(rig.engine.stats.held, 0);
    RIG_CLOSE();
}

int main(void) {
    RUN(a_grant_comes_with_its_token);
    RUN(a_nested_acquire_keeps_the_token);
    RUN(what_is_no_token_is_no_grant);
    RUN(a_broken_connection_asks_with_the_same_id);
    RUN(a_hand_over_brings_the_next_token);
    RUN(a_hand_over_of_a_lost_hold_brings_none);
    RUN(a_hand_over_that_nobody_waits_for_leaves_no_token);
    return unit_done();
}
