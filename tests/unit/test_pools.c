/* The engine's pools: what an operation reserves, what it takes, and that all of it returns to the pools.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"
#include "operations.h"
#include "pools.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

static void an_empty_engine_needs_what_one_call_needs(void) {
    rig_open();
    struct engine_preallocation needed = engine_preallocation_needed(&rig.engine, OPERATION_ACQUIRE);
    CHECK(needed.commands == 4 && needed.wait_queues == 1 && needed.holds == 1 && needed.batches == 16);
    needed = engine_preallocation_needed(&rig.engine, OPERATION_RELEASE);
    CHECK(needed.commands == 2 && needed.wait_queues == 0 && needed.holds == 0);
    RIG_CLOSE();
}

static void memory_of_calls_that_are_done_serves_the_next(void) {
    rig_open();
    for (int i = 0; i < 10; i++) {
        rig_grant("a", 1);
        rig_end("a", 1);
    }
    CHECK_EQ_INT(rig.commands, 4);
    CHECK_EQ_INT(rig.wait_queues, 1);
    CHECK_EQ_INT(rig.holds, 1);
    struct engine_preallocation needed = engine_preallocation_needed(&rig.engine, OPERATION_ACQUIRE);
    CHECK_EQ_INT(needed.commands + needed.wait_queues + needed.holds + needed.batches, 0);
    RIG_CLOSE();
}

static void each_call_under_way_has_its_own_set_aside(void) {
    rig_open();
    struct call *calls[5];
    for (uint64_t i = 0; i < 5; i++) {
        calls[i] = rig_acquire("a", i + 1);
    }
    CHECK_EQ_INT(rig.engine.reserved_commands, 4 * 5 - 1); /* the foremost has taken one for its acquire */
    CHECK_EQ_INT(rig.engine.reserved_holds, 5);
    CHECK_EQ_INT(rig.engine.reserved_wait_queues, 0); /* the waiters share the wait queue of the name */
    CHECK_EQ_INT(rig.wait_queues, 2);                 /* and one for a call with another name */
    for (int i = 0; i < 5; i++) {
        rig_abort(calls[i], REDLATCH_CANCELLED);
    }
    CHECK_EQ_INT(rig.engine.reserved_commands, 0);
    RIG_CLOSE();
}

static void a_wait_queue_that_goes_is_set_aside_for_whoever_may_need_it_again(void) {
    rig_open();
    struct call *first = rig_acquire_named("a", 7);
    struct call *second = rig_acquire_named("a", 7);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK(first->done && !second->done && !rig_wait_queue("a")); /* the second left the queue to re-enter */
    CHECK_EQ_INT(rig.engine.reserved_wait_queues, 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    CHECK(second->done);
    CHECK_EQ_INT(rig.engine.reserved_wait_queues, 0);
    rig_end("a", 7);
    rig_end("a", 7);
    RIG_CLOSE();
}

static void an_answered_command_is_set_aside_again(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ_INT(call->operation->reserved_commands, 3);
        rig_send(PIPELINE);
        rig_integer(PIPELINE, 60000);
        CHECK_EQ_INT(call->operation->reserved_commands, 4);
        rig_pass(5 * SECOND);
    }
    rig_abort(call, REDLATCH_CANCELLED);
    RIG_CLOSE();
}

static void nobody_takes_what_is_set_aside_for_others(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    CHECK_EQ_INT(rig.engine.command_pool_size, rig.engine.reserved_commands);
    CHECK(take_command(&rig.engine, NULL) == NULL);
    struct command *taken[3];
    for (int i = 0; i < 3; i++) {
        taken[i] = take_command(&rig.engine, call->operation);
        CHECK(taken[i] && taken[i]->operation == call->operation && taken[i]->pipeline == PIPELINE);
    }
    CHECK(take_command(&rig.engine, call->operation) == NULL); /* its reserve is used up */
    for (int i = 0; i < 3; i++) {
        give_command(&rig.engine, taken[i]);
    }
    struct command extra;
    engine_add_command(&rig.engine, &extra);
    struct command *spare = take_command(&rig.engine, NULL);
    CHECK(spare && !spare->operation && !spare->resource);
    give_command(&rig.engine, spare);
    list_remove(&extra.link); /* it is the test's own: only the rig's commands stay in the pool */
    rig.engine.command_pool_size--;
    rig_abort(call, REDLATCH_CANCELLED);
    RIG_CLOSE();
}

static void a_command_keeps_its_name_alive(void) {
    rig_open();
    struct resource *resource = rig_name("a");
    uint32_t references = resource->references;
    struct call *call = rig_acquire("a", 1); /* besides the handle: operation, command and wait queue */
    CHECK_EQ_INT(resource->references, references + 3);
    rig_send(PIPELINE);
    rig_nil(PIPELINE); /* besides the handle: the hold */
    CHECK_EQ_INT(resource->references, references + 1);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    CHECK_EQ_INT(resource->references, references);
    RIG_CLOSE();
}

static void a_command_given_back_is_nowhere_any_more(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    struct command *command = take_command(&rig.engine, call->operation);
    push_command(&rig.engine, command);
    repeat_command(&rig.engine, command, rig.now + SECOND);
    give_command(&rig.engine, command);
    CHECK_EQ_INT(engine_next_timer(&rig.engine), NEVER);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_nil(PIPELINE);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void renewals_have_a_pool_of_their_own(void) {
    rig_open();
    rig_grant("a", 1);
    uint32_t commands = rig.engine.command_pool_size;
    rig_pass(10 * SECOND);
    CHECK_EQ_INT(rig.engine.batch_pool_size, rig.batches - 1);
    CHECK_EQ_INT(rig.engine.command_pool_size, commands);
    rig_drain_background();
    CHECK_EQ_INT(rig.engine.batch_pool_size, rig.batches);
    rig_end("a", 1);
    RIG_CLOSE();
}

int main(void) {
    RUN(an_empty_engine_needs_what_one_call_needs);
    RUN(memory_of_calls_that_are_done_serves_the_next);
    RUN(each_call_under_way_has_its_own_set_aside);
    RUN(a_wait_queue_that_goes_is_set_aside_for_whoever_may_need_it_again);
    RUN(an_answered_command_is_set_aside_again);
    RUN(nobody_takes_what_is_set_aside_for_others);
    RUN(a_command_keeps_its_name_alive);
    RUN(a_command_given_back_is_nowhere_any_more);
    RUN(renewals_have_a_pool_of_their_own);
    return unit_done();
}
