/* Replies out of the bytes of a server that need not mean well: hiredis' parser within bounds of memory. What we ask is
 * answered by a text, a number or an array of these.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPLIES_H
#define REPLIES_H

#include <stdbool.h>
#include <stddef.h>

struct redisReader;
struct bounded_functions;

struct replies {
    struct redisReader *reader;          /* NULL: closed */
    struct bounded_functions *functions; /* by which it makes replies */
    size_t unfinished;                   /* bytes received since the last complete reply */
    bool refused;                        /* an array that is no reply to anything */
};

bool replies_open(struct replies *replies); /* false without memory */
void replies_close(struct replies *replies);

/* Takes bytes in: OK or NO_MEMORY. */
int replies_feed(struct replies *replies, const char *bytes, size_t size);

/* The next complete reply, a redisReply to be freed: OK; AGAIN when there is none. PROTOCOL for what is no reply, or
 * has come to more than size_max bytes without being complete; NO_MEMORY. */
int replies_next(struct replies *replies, size_t size_max, void **parsed_out);

#endif
