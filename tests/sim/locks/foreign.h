/* A foreign client like Redisson. It acquires locks as Redisson does. It releases them with a message, or dies, so that
 * only the lease ends the hold.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FOREIGN_H
#define FOREIGN_H

#include <stdbool.h>
#include <stdint.h>

struct world;

struct foreign {
    bool held;
    uint32_t name;
    int64_t until; /* true time at which it was released or its safe time ends */
    uint32_t turns_left;
};

void foreign_start(struct world *world);

#endif
