/* Counts the steps that the engine takes while its driver holds the client's mutex. A step is a basic block of the
 * layers `base`, `protocol` and `client`; the compiler inserts a call of the meter into each. The link layer, hiredis,
 * OpenSSL, system calls and allocation are not counted: docs/internals/architecture.md, "What the client's mutex is
 * held for".
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef STEP_METER_H
#define STEP_METER_H

#include <setjmp.h>
#include <stdint.h>

/* Ten times as many steps as any event of some thousand seeds takes. An endless loop takes them in a millisecond. */
enum { ENGINE_STEPS_MAX = 250000 };

/* Begins to count. After more than ENGINE_STEPS_MAX steps jumps to `out`; the engine must then not be used any more. */
void step_meter_arm(jmp_buf *out);

/* Ends counting and returns the number of steps. It is 0 if nothing was counted. */
uint64_t step_meter_disarm(void);

#endif
