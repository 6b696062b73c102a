/* The watchdog's batches.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RENEWAL_H
#define RENEWAL_H

#include "engine.h"

void hold_timer(struct engine *engine, struct hold *hold, int64_t now);
void renewal_gather(struct engine *engine, struct hold *first, int64_t now);
void renewal_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void renewal_again(struct engine *engine, struct command *command, int64_t at, int64_t now);

/* Verifies the holds of a name, or of all names of a server, at `at`. renewal_verify_soon does so at once, or at
 * server->verify_after if it did so shortly before. */
void renewal_verify(struct engine *engine, struct resource *resource, int64_t at);
void renewal_verify_all(struct engine *engine, const struct server *server, int64_t at);
void renewal_verify_soon(struct engine *engine, struct server *server, int64_t now);

#endif
