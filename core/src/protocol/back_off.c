/* The back-off of waiters that ask again and again: each pause is longer than the one before by a factor and some
 * jitter, until the longest, which is the same for ever (wire format 3.9, Redisson's ExponentialBackOff). Where the
 * first is the longest all are of one length (its ConstantBackOff).
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
