/* The holds that the parent process had by a client when this process was forked. They belong to the parent: calls on
 * them return FORKED.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INHERITED_H
#define INHERITED_H

#include "records.h"

struct client;

/* The list grows only when a client is set up anew in a child, so it is read without the mutex. */
struct inherited_holds {
    struct inherited_hold *list;
    size_t count;
};

/* Notes the holds in the client's engine. Returns false if there was no memory; then none was noted. */
bool inherited_note(struct client *client);

/* Returns whether `owner` held the name as that kind of lock when the process was forked, and was not granted it
 * since. */
bool inherited_has(const struct client *client, const struct resource *resource, uint8_t lock_kind, uint64_t owner);

/* Called for each finished operation, with the mutex. If it was granted locks, their owner has holds of its own from
 * now on. */
void inherited_finished(struct client *client, const struct operation *operation);

/* Returns whether the permit with this id was held when the process was forked. */
bool inherited_has_permit(const struct client *client, const struct resource *resource,
                          const unsigned char permit[PERMIT_SIZE]);

#endif
