/* Erasing secrets.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WIPE_H
#define WIPE_H

#include <stddef.h>
#include <string.h>

/* Zeroes memory. A compiler may not leave this out, although nobody reads the memory again. */
static inline void wipe(void *bytes, size_t size) {
    memset(bytes, 0, size);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

#endif
