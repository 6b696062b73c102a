/* What the engine does at once grows with the number of those it does it for, and not with its square: the meter of
 * the simulation counts its steps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"
#include "step_meter.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

enum { FEW = 100, MANY = 400 };

static void the_channel_is_subscribed_to(void) {
    CHECK_EQ_INT(rig_subscriptions(), 1);
}

/* The steps that an act takes, or ENGINE_STEPS_MAX if it takes more: the engine is not to be used any more then. */
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

/* So many sets wait for one name, and all look as its channel is subscribed to. */
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

int main(void) {
    RUN(four_times_as_many_sets_recheck_in_four_times_the_steps);
    return unit_done();
}
