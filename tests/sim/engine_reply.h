/* What the in-memory Redis answered, as the engine is told of it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_REPLY_H
#define ENGINE_REPLY_H

#include "records.h"
#include "redis_reply.h"

/* Texts are borrowed from the answer, and the elements of an array are put into `elements`. */
struct reply engine_reply(const struct redis_reply *from, struct reply elements[REPLY_ELEMENTS_MAX]);

#endif
