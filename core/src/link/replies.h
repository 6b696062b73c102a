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
    bool nested;         /* an array may have arrays: what sentinels and nodes of a cluster answer with */
    bool refused;        /* an array that is no reply to anything */
    bool skipping;       /* a string that is too long is read and discarded */
    size_t left_to_skip; /* bytes of it */
};

bool replies_open(struct replies *replies); /* false without memory */
void replies_close(struct replies *replies);
void replies_moved(struct replies *replies); /* the struct was copied to here */

/* Takes bytes in: OK or NO_MEMORY. */
int replies_feed(struct replies *replies, const char *bytes, size_t size);

/* How long a reply may be. */
struct reply_bounds {
    size_t size_max;
    bool skips; /* a string of more is discarded, up to SKIPPED_SIZE_MAX bytes; an empty one is in its place */
};

enum { SKIPPED_SIZE_MAX = 1 << 28 };

/* The next complete reply, a redisReply to be freed: OK; AGAIN when there is none. PROTOCOL for what is no reply, or
 * has come to more bytes than the bounds allow without being complete; NO_MEMORY. */
int replies_next(struct replies *replies, const struct reply_bounds *bounds, void **parsed_out);

#endif
