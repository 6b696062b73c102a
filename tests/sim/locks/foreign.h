/* A Redisson-like peer: it takes the lock as Redisson does, releases it with a message, or dies so that only its
 * lease ends it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FOREIGN_H
#define FOREIGN_H

#include <stdbool.h>
#include <stdint.h>

struct world;

struct foreign {
    bool held;
    uint32_t name;
    int64_t until; /* true time: released, or safe no longer */
    uint32_t turns_left;
};

void foreign_start(struct world *world);

#endif
