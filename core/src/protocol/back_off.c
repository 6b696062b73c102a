/* The back-off of waiters that poll (wire format 3.9). Each pause is the one before times a factor, plus jitter, up to
 * a longest pause (Redisson's ExponentialBackOff). If the first pause is the longest, all pauses are equal (Redisson's
 * ConstantBackOff).
 * SPDX-License-Identifier: Apache-2.0 */
#include "back_off.h"

int64_t back_off_next(struct engine *engine, struct back_off *back_off) {
    uint32_t pause = back_off->next_ms;
    if (pause < back_off->max_ms) {
        uint64_t longer = (uint64_t)pause * back_off->multiplier + engine_random(engine, ++back_off->pauses);
        back_off->next_ms = longer < back_off->max_ms ? (uint32_t)longer : back_off->max_ms;
    }
    return pause;
}
