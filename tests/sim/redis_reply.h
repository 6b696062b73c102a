/* Replies of the in-memory Redis.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REDIS_REPLY_H
#define REDIS_REPLY_H

#include <stdio.h>

#include "redis_text.h"

/* REDIS_NIL is zero, so that zeroed memory is a nil reply. */
enum redis_reply_kind { REDIS_NIL, REDIS_INTEGER, REDIS_STATUS, REDIS_BULK, REDIS_ERROR, REDIS_ARRAY };

struct redis_reply {
    enum redis_reply_kind kind;
    int64_t integer; /* REDIS_INTEGER */
    size_t size;     /* of the text, or the number of elements */
    union {
        char *text;                   /* REDIS_STATUS, REDIS_BULK, REDIS_ERROR: owned, with a NUL after it */
        struct redis_reply *elements; /* REDIS_ARRAY: owned */
    };
};

/* These fill a reply. The caller has freed its former content, if any. */
void redis_reply_nil(struct redis_reply *reply);
void redis_reply_integer(struct redis_reply *reply, int64_t integer);
void redis_reply_bulk(struct redis_reply *reply, struct redis_text text);

/* Line breaks become spaces, since a status is one line on the wire. */
void redis_reply_status(struct redis_reply *reply, struct redis_text text);

/* Formats as printf. The first word is the error code. Line breaks become spaces. */
void redis_reply_error(struct redis_reply *reply, const char *format, ...);

/* Makes an array of nil elements and returns them. */
struct redis_reply *redis_reply_array(struct redis_reply *reply, size_t count);

/* Frees what the reply owns and makes it nil. */
void redis_reply_free(struct redis_reply *reply);

static inline struct redis_text redis_reply_view(const struct redis_reply *reply) {
    return (struct redis_text){reply->text, reply->size};
}

bool redis_reply_equal(const struct redis_reply *left, const struct redis_reply *right);

/* Prints one line without its line break, for traces and reports. */
void redis_reply_print(FILE *file, const struct redis_reply *reply);

#endif
