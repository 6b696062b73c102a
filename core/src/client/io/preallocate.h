/* Preallocation of the engine's records.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PREALLOCATE_H
#define PREALLOCATE_H

#include "client.h"

bool client_preallocate(struct client *client, uint8_t operation_kind);
bool client_preallocate_for(struct client *client, uint8_t operation_kind,
                            const struct name_set *set);              /* NULL: of one name */
bool client_preallocate_holds(struct client *client, uint32_t count); /* for an operation that may be granted so many */
struct resource *client_group_resource(struct client *client, uint8_t lock_kind, const char *name, size_t size,
                                       const char *values, uint32_t value_count);
struct resource *client_resource(struct client *client, uint8_t lock_kind, const char *name, size_t size);

#endif
