/* Converts a reply of the in-memory Redis to a reply for the engine.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_REPLY_H
#define ENGINE_REPLY_H

#include "records.h"
#include "redis_reply.h"

/* Texts are borrowed from `from`. The elements of an array are written to `elements`. */
struct reply engine_reply(const struct redis_reply *from, struct reply elements[REPLY_ELEMENTS_MAX]);

#endif
