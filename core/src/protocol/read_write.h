/* The two modes of a read-write lock, where they differ from a mutex.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READ_WRITE_H
#define READ_WRITE_H

#include "engine.h"

void read_write_begin(struct engine *engine, struct operation *operation, int64_t now);
int read_write_upgrade(const struct resource *resource, uint8_t lock_kind, uint64_t owner);

#endif
