/* SPDX-License-Identifier: Apache-2.0 */
#include "step_meter.h"

#include <stddef.h>

/* Steps left until the jump. Counting down keeps the meter short: the compiler calls it in every basic block, and it
 * once took a third of a seed's processor time. */
static uint64_t left = UINT64_MAX;
static jmp_buf *way_out;

void step_meter_arm(jmp_buf *out) {
    way_out = out;
    left = ENGINE_STEPS_MAX + 1;
}

uint64_t step_meter_disarm(void) {
    uint64_t steps = way_out ? ENGINE_STEPS_MAX + 1 - left : 0;
    left = UINT64_MAX;
    way_out = NULL;
    return steps;
}

/* The function that the compiler calls in each basic block. The compiler determines its name. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
    if (--left == 0) {
        longjmp(*way_out, 1);
    }
}
