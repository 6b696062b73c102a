/* The steps of one event of the engine grow with the number of waiters, holds or names, and not with its square. The
 * step meter of the simulation counts them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"
#include "step_meter.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

enum { FEW = 100, MANY = 400 };

static void the_channel_is_subscribed_to(void) {
    CHECK_EQ_INT(rig_subscriptions(), 1);
}

/* Returns the steps of `act`, or ENGINE_STEPS_MAX if there are more. Then the engine must not be used any more. */
static uint64_t steps_of(void (*act)(void)) {
    jmp_buf out;
    if (setjmp(out) != 0) {
        step_meter_disarm();
        return ENGINE_STEPS_MAX;
    }
    step_meter_arm(&out);
    act();
    return step_meter_disarm();
}

/* Several sets wait for one name, and all recheck when its channel is subscribed to. */
static uint64_t steps_of_sets_that_recheck(uint64_t sets) {
    rig_open();
    for (uint64_t owner = 1; owner <= sets; owner++) {
        rig_acquire_all("ab", owner);
        rig_send(PIPELINE);
        rig_contended(PIPELINE, 1, 30000);
    }
    uint64_t steps = steps_of(the_channel_is_subscribed_to);
    CHECK(steps < ENGINE_STEPS_MAX);
    for (uint64_t owner = 1; steps < ENGINE_STEPS_MAX && owner <= sets; owner++) {
        CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE_MANY);
        rig_granted(PIPELINE);
        rig_release_all("ab", owner);
    }
    for (uint64_t owner = 1; steps < ENGINE_STEPS_MAX && owner <= sets; owner++) {
        CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE_MANY);
        rig_integer(PIPELINE, 2);
    }
    if (steps < ENGINE_STEPS_MAX) {
        RIG_CLOSE();
    }
    return steps;
}

static void four_times_as_many_sets_recheck_in_four_times_the_steps(void) {
    uint64_t few = steps_of_sets_that_recheck(FEW);
    uint64_t many = steps_of_sets_that_recheck(MANY);
    CHECK(few > FEW); /* the meter counts */
    CHECK(many < few * 6);
}

static const char *numbered(const char *prefix, uint64_t number) {
    static char name[24];
    snprintf(name, sizeof name, "%s%u", prefix, (unsigned)number);
    return name;
}

static void the_connection_fails(void) {
    rig_failed(PIPELINE, REDLATCH_UNREACHABLE);
}

/* Tries and waiters alternate in the pipeline, and only the tries end. A search for each next try from the front would
 * pass all waiters. */
static uint64_t steps_of_tries_that_fail(uint64_t tries) {
    rig_open();
    for (uint64_t i = 1; i <= tries; i++) {
        rig_acquire(numbered("waited", i), i);
        rig_try(numbered("tried", i), i);
    }
    uint64_t steps = steps_of(the_connection_fails);
    CHECK(steps < ENGINE_STEPS_MAX);
    if (steps < ENGINE_STEPS_MAX) {
        CHECK_EQ_INT(rig.done_count, tries);
        for (uint64_t i = 1; i <= tries; i++) {
            CHECK(rig_send(PIPELINE) != NULL);
            rig_nil(PIPELINE);
        }
        for (uint64_t i = 1; i <= tries; i++) {
            rig_end(numbered("waited", i), i);
        }
        RIG_CLOSE();
    }
    return steps;
}

static void four_times_as_many_tries_fail_in_four_times_the_steps(void) {
    uint64_t few = steps_of_tries_that_fail(FEW);
    uint64_t many = steps_of_tries_that_fail(MANY);
    CHECK(many < few * 6);
}

static void a_message_comes(void) {
    rig_message("a");
}

/* As many watchers of a name as sets that wait for it. A message lets all watchers recheck, and one set. */
static uint64_t steps_of_watchers_that_are_notified(uint64_t watchers) {
    struct call *calls[2 * MANY];
    rig_open();
    for (uint64_t i = 0; i < watchers; i++) {
        calls[2 * i] = rig_call(OPERATION_WATCH, "a", 0);
        rig_start(calls[2 * i]);
        rig_send(PIPELINE);
        rig_integer(PIPELINE, 30000);
        calls[2 * i + 1] = rig_acquire_all("ab", 1 + i);
        rig_send(PIPELINE);
        rig_contended(PIPELINE, 1, 30000);
    }
    rig_subscriptions();
    for (uint64_t i = 0; i < watchers; i++) {
        rig_send(PIPELINE);
        rig_integer(PIPELINE, 30000);
        rig_send(PIPELINE);
        rig_contended(PIPELINE, 1, 30000);
    }
    uint64_t steps = steps_of(a_message_comes);
    CHECK(steps < ENGINE_STEPS_MAX);
    if (steps < ENGINE_STEPS_MAX) {
        uint64_t requests = 0;
        for (const struct command *sent; (sent = rig_send(PIPELINE)) != NULL; requests++) {
            if (sent->kind == COMMAND_WATCH) {
                rig_integer(PIPELINE, -2);
            } else {
                rig_contended(PIPELINE, 1, 30000);
            }
        }
        CHECK_EQ_INT(requests, watchers + 1);
        CHECK_EQ_INT(rig.done_count, watchers);
        for (uint64_t i = 0; i < watchers; i++) {
            rig_abort(calls[2 * i + 1], REDLATCH_CANCELLED);
            if (rig_send(PIPELINE)) { /* the turn of the next set */
                rig_contended(PIPELINE, 1, 30000);
            }
        }
        RIG_CLOSE();
    }
    return steps;
}

static void four_times_as_many_watchers_are_notified_in_four_times_the_steps(void) {
    uint64_t few = steps_of_watchers_that_are_notified(FEW);
    uint64_t many = steps_of_watchers_that_are_notified(MANY);
    CHECK(many < few * 6);
}

static void the_owner_ends(void) {
    engine_owner_end(&rig.engine, 1, rig.now);
    rig_turn();
}

/* The holds of another owner are before its own in the chain that both share. */
static uint64_t steps_of_an_owner_that_ends(uint64_t holds) {
    const uint64_t other = 1 + OWNER_CHAINS;
    rig_open();
    for (uint64_t i = 0; i < holds; i++) {
        rig_grant(numbered("other", i), other);
    }
    for (uint64_t i = 0; i < holds; i++) {
        rig_grant(numbered("own", i), 1);
    }
    uint64_t steps = steps_of(the_owner_ends);
    CHECK(steps < ENGINE_STEPS_MAX);
    if (steps < ENGINE_STEPS_MAX) {
        CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), holds);
        CHECK_EQ_INT(rig.engine.stats.held, holds);
        for (uint64_t i = 0; i < holds; i++) {
            rig_end(numbered("other", i), other);
        }
        RIG_CLOSE();
    }
    return steps;
}

static void an_owner_with_four_times_as_many_holds_ends_in_four_times_the_steps(void) {
    uint64_t few = steps_of_an_owner_that_ends(FEW);
    uint64_t many = steps_of_an_owner_that_ends(MANY);
    CHECK(many < few * 6);
}

int main(void) {
    RUN(four_times_as_many_sets_recheck_in_four_times_the_steps);
    RUN(four_times_as_many_tries_fail_in_four_times_the_steps);
    RUN(four_times_as_many_watchers_are_notified_in_four_times_the_steps);
    RUN(an_owner_with_four_times_as_many_holds_ends_in_four_times_the_steps);
    return unit_done();
}
