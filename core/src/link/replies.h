/* Replies from the bytes of a server that may be hostile: hiredis' parser within bounds of memory. The commands of this
 * library are answered by a text, a number or an array of these.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPLIES_H
#define REPLIES_H

#include <stdbool.h>
#include <stddef.h>

struct redisReader;
struct bounded_functions;

struct replies {
    struct redisReader *reader;          /* NULL: closed */
    struct bounded_functions *functions; /* by which the reader makes replies */
    size_t unfinished;                   /* bytes received since the last complete reply */
    bool nested;         /* an array may have arrays, as in replies of sentinels and nodes of a cluster */
    bool refused;        /* of a type, or an array, that is in no reply to any command */
    bool skipping;       /* a string that is too long is read and discarded */
    size_t left_to_skip; /* bytes of it */
    bool flat;           /* an array is made flat, and cut */
};

bool replies_open(struct replies *replies); /* false without memory */
void replies_close(struct replies *replies);
void replies_moved(struct replies *replies); /* the struct was copied to here */

/* Takes bytes in. Returns OK or NO_MEMORY. */
int replies_feed(struct replies *replies, const char *bytes, size_t size);

/* How long a reply may be. */
struct reply_bounds {
    size_t size_max;
    bool skips; /* a longer string is discarded, up to SKIPPED_SIZE_MAX bytes; an empty one replaces it. Arrays in an
                   array are replaced by their elements, of which those behind FLAT_ELEMENTS_MAX are discarded */
};

enum { SKIPPED_SIZE_MAX = 1 << 28, FLAT_ELEMENTS_MAX = 100 };

/* Gets the next complete reply, a redisReply that the caller frees. Returns OK; AGAIN if there is none; PROTOCOL for
 * bytes that are no reply, and for an incomplete reply with more bytes than the bounds allow; NO_MEMORY. */
int replies_next(struct replies *replies, const struct reply_bounds *bounds, void **parsed_out);

#endif
