/* The replies of the model servers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_REPLIES_H
#define MODEL_REPLIES_H

#include <stdio.h>

#include "redis_reply.h"

/* Writes the bytes of a reply, in RESP2. */
void model_reply_write(FILE *out, const struct redis_reply *reply);

/* Returns what a subscriber receives: a message, or a confirmation. Takes `last` over. */
struct redis_reply model_reply_pushed(const char *kind, struct redis_text channel, const struct redis_reply *last);

/* Replaces a reply by one of a random shape. */
void model_reply_garble(struct redis_reply *reply);

#endif
