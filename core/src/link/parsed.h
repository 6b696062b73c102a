/* Replies that hiredis has parsed, converted to the protocol layer's own struct reply.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PARSED_H
#define PARSED_H

#include "records.h"

/* A parsed reply and room for its elements. Zero it before the first use; reply_holder_clear ends it. */
struct reply_holder {
    void *parsed; /* redisReply */
    struct reply reply;
    struct reply elements[REPLY_ELEMENTS_MAX]; /* of a longer array the rest is cut off: no script returns one */
};

void reply_holder_clear(struct reply_holder *holder);

/* Takes the redisReply over and converts it. Returns false if it, or an element, is of a type that no command here
 * replies with. */
bool reply_holder_show(struct reply_holder *holder, void *parsed);

/* Gives the redisReply to the caller, who shows it again or frees it. */
void *reply_holder_take(struct reply_holder *holder);
void reply_free(void *parsed); /* NULL is allowed */

/* Converts the elements of an element that is an array itself. Returns how many are in `elements`, at most `size`. */
size_t reply_holder_inner(const struct reply_holder *holder, size_t element, struct reply *elements, size_t size);

#endif
