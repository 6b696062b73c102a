/* The holds that a client's parent process had when this process was forked: they are the parent's, and say so.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INHERITED_H
#define INHERITED_H

#include "records.h"

struct client;

/* The list grows when a client is set up anew in a child, and at no other time, so it is read without the mutex. */
struct inherited_holds {
    struct inherited_hold *list;
    size_t count;
};

/* Notes every hold that the client's engine has; false without memory, and then none. */
bool inherited_note(struct client *client);

/* Whether an owner held a name as that kind of lock when the process was forked, and was not granted it since. */
bool inherited_has(const struct client *client, const struct resource *resource, uint8_t lock_kind, uint64_t owner);

/* An operation is finished. If it was granted locks, their owner has holds of its own from now on. With the mutex. */
void inherited_finished(struct client *client, const struct operation *operation);

/* Whether a permit was held then, by its id. */
bool inherited_has_permit(const struct client *client, const struct resource *resource,
                          const unsigned char permit[PERMIT_SIZE]);

#endif
