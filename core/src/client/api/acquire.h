/* What the blocking and the asynchronous acquire share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACQUIRE_H
#define ACQUIRE_H

#include <stdint.h>

/* Whether lease and wait are in range: OK or INVALID. */
int acquire_check(int64_t lease_ms, int64_t wait_ms);

#endif
