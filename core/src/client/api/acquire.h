/* The check of arguments that the blocking and the asynchronous acquire share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACQUIRE_H
#define ACQUIRE_H

#include <stdint.h>

/* Returns OK if lease and wait are in range, else INVALID with the last error set. */
int acquire_check(int64_t lease_ms, int64_t wait_ms);

#endif
