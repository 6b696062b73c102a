/* Counts how many steps the engine takes while its driver holds the client's mutex. A step is a basic block of the
 * layers `base`, `protocol` and `client`, which the compiler makes call the meter. The link layer, hiredis, OpenSSL,
 * system calls and allocation are not counted: docs/internals/architecture.md, "What the client's mutex is held for".
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef STEP_METER_H
#define STEP_METER_H

#include <setjmp.h>
#include <stdint.h>

/* Ten times what any event of some thousand seeds takes; an endless loop is there in a millisecond. */
enum { ENGINE_STEPS_MAX = 250000 };

/* Begins to count. When there are more than ENGINE_STEPS_MAX, the engine is left by a jump to `out`, and must not be
 * used any more. */
void step_meter_arm(jmp_buf *out);

/* Ends counting; how many there were, 0 if none were counted. */
uint64_t step_meter_disarm(void);

#endif
