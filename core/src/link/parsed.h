/* Replies as hiredis parses them, shown to the protocol layer as its own kind of reply.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PARSED_H
#define PARSED_H

#include "records.h"

/* A parsed reply and room for its elements. Zero it before the first use; reply_holder_clear ends it. */
struct reply_holder {
    void *parsed; /* redisReply */
    struct reply reply;
    struct reply elements[REPLY_ELEMENTS_MAX]; /* of a longer array the rest is cut off: no script has one */
};

void reply_holder_clear(struct reply_holder *holder);

/* Takes the redisReply over; false if it, or an element, is of a kind that no command of ours is answered with. */
bool reply_holder_show(struct reply_holder *holder, void *parsed);

/* Gives the redisReply away, to be shown again or freed. */
void *reply_holder_take(struct reply_holder *holder);
void reply_free(void *parsed); /* NULL is allowed */

/* Shows an element that is an array itself: how many of its elements are in `elements`, at most `size`. */
size_t reply_holder_inner(const struct reply_holder *holder, size_t element, struct reply *elements, size_t size);

#endif
