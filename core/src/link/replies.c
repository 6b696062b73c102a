/* hiredis' parser within bounds: by itself it buffers a reply of any size, and allocates whatever an array announces.
 * SPDX-License-Identifier: Apache-2.0 */
#include "replies.h"

#include <hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "redlatch.h"

/* More elements than the longest array that any of our scripts returns. */
enum { ELEMENTS_MAX = 1024 };

/* The same for replies of sentinels and nodes of a cluster, which may have a range for each slot. */
enum { NESTED_MAX = 16384 };

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

/* The functions below that make replies, and hiredis' own, which they call. */
struct bounded_functions {
    struct replies *replies;
    redisReplyObjectFunctions table;
    const redisReplyObjectFunctions *hiredis;
};

static void *refuse(const redisReadTask *task) {
    const struct bounded_functions *functions = task->privdata;
    functions->replies->refused = true;
    return NULL;
}

/* In a flat reply there is one array: its inner arrays are this array, too. */
static void *create_array(const redisReadTask *task, element_count count) {
    const struct bounded_functions *functions = task->privdata;
    const struct replies *replies = functions->replies;
    if (replies->flat && task->parent) {
        return task->parent->obj;
    }
    if (replies->flat) {
        redisReply *array = functions->hiredis->createArray(task, FLAT_ELEMENTS_MAX);
        if (array) {
            array->elements = 0;
        }
        return array;
    }
    if ((task->parent && !replies->nested) || count > (replies->nested ? NESTED_MAX : ELEMENTS_MAX)) {
        return refuse(task);
    }
    return functions->hiredis->createArray(task, count);
}

/* Gives an element of a flat reply its index. Returns false if the element is dropped. */
static bool set_index(redisReadTask *task) {
    const struct bounded_functions *functions = task->privdata;
    if (!functions->replies->flat || !task->parent) {
        return true;
    }
    redisReply *array = task->parent->obj;
    if (array->elements == FLAT_ELEMENTS_MAX) {
        return false;
    }
    task->idx = (int)array->elements++;
    return true;
}

/* In place of an element that is dropped these return the array, because NULL would be an error. */
static void *create_string(const redisReadTask *task, char *text, size_t size) {
    const struct bounded_functions *functions = task->privdata;
    redisReadTask own = *task;
    return set_index(&own) ? functions->hiredis->createString(&own, text, size) : task->parent->obj;
}

static void *create_integer(const redisReadTask *task, long long integer) {
    const struct bounded_functions *functions = task->privdata;
    redisReadTask own = *task;
    return set_index(&own) ? functions->hiredis->createInteger(&own, integer) : task->parent->obj;
}

static void *create_nil(const redisReadTask *task) {
    const struct bounded_functions *functions = task->privdata;
    redisReadTask own = *task;
    return set_index(&own) ? functions->hiredis->createNil(&own) : task->parent->obj;
}

#if HIREDIS_MAJOR >= 1
static void *refuse_double(const redisReadTask *task, double number, char *text, size_t size) {
    (void)number;
    (void)text;
    (void)size;
    return refuse(task);
}

static void *refuse_bool(const redisReadTask *task, int truth) {
    (void)truth;
    return refuse(task);
}
#endif

static void set_functions(struct bounded_functions *functions, const redisReplyObjectFunctions *hiredis) {
    functions->hiredis = hiredis;
    functions->table = *hiredis;
    functions->table.createArray = create_array;
    functions->table.createString = create_string;
    functions->table.createInteger = create_integer;
    functions->table.createNil = create_nil;
#if HIREDIS_MAJOR >= 1 /* it knows types of RESP3 */
    functions->table.createDouble = refuse_double;
    functions->table.createBool = refuse_bool;
#endif
}

bool replies_open(struct replies *replies) {
    replies->reader = redisReaderCreate();
    replies->functions = malloc(sizeof *replies->functions);
    if (!replies->reader || !replies->functions) {
        replies_close(replies);
        return false;
    }
    replies->unfinished = 0;
    replies->refused = false;
    replies->skipping = false;
    replies->left_to_skip = 0;
    replies->flat = false;
    set_functions(replies->functions, replies->reader->fn);
    replies->reader->fn = &replies->functions->table;
    replies->reader->privdata = replies->functions;
    replies_moved(replies);
    return true;
}

void replies_moved(struct replies *replies) {
    if (replies->functions) {
        replies->functions->replies = replies;
    }
}

void replies_close(struct replies *replies) {
    if (replies->reader) {
        redisReaderFree(replies->reader);
    }
    free(replies->functions);
    replies->reader = NULL;
    replies->functions = NULL;
}

/* Skips bytes of the string that is discarded. Returns how many. */
static size_t skip(struct replies *replies, size_t size) {
    size_t skipped = size < replies->left_to_skip ? size : replies->left_to_skip;
    replies->left_to_skip -= skipped;
    return skipped;
}

int replies_feed(struct replies *replies, const char *bytes, size_t size) {
    size_t skipped = skip(replies, size);
    if (skipped == size) {
        return REDLATCH_OK;
    }
    replies->unfinished += size - skipped;
    return redisReaderFeed(replies->reader, bytes + skipped, size - skipped) == REDIS_OK ? REDLATCH_OK
                                                                                         : REDLATCH_NO_MEMORY;
}

/* The longest first line of a string: a $, digits, CR and LF. */
enum { STRING_LINE_MAX = 16 };

/* Begins to skip if the next reply is a string that is too long. Returns AGAIN while its first line is not complete:
 * the parser must not see the beginning of a string that is skipped. */
static int find_long_string(struct replies *replies, size_t size_max) {
    redisReader *reader = replies->reader;
    const char *line = reader->buf + reader->pos;
    size_t size = reader->len - reader->pos;
    if (reader->ridx != -1 || size == 0 || line[0] != '$') {
        return REDLATCH_OK;
    }
    size_t length = 0;
    size_t at = 1;
    while (at < size && at < STRING_LINE_MAX - 2 && line[at] >= '0' && line[at] <= '9') {
        length = 10 * length + (size_t)(line[at++] - '0');
    }
    if (size < at + 2) {
        return REDLATCH_AGAIN;
    }
    if (length <= size_max || length > SKIPPED_SIZE_MAX || memcmp(line + at, "\r\n", 2) != 0) {
        return REDLATCH_OK; /* left to the parser */
    }
    replies->skipping = true;
    replies->left_to_skip = at + 2 + length + 2;
    reader->pos += skip(replies, size);
    return REDLATCH_OK;
}

/* Makes an empty string in place of the one that was skipped. */
static int end_skipping(struct replies *replies, void **parsed_out) {
    redisReader *reader = replies->reader;
    if (replies->left_to_skip > 0) {
        return REDLATCH_AGAIN;
    }
    redisReadTask task = {.type = REDIS_REPLY_STRING, .privdata = reader->privdata};
    char nothing[1] = "";
    *parsed_out = reader->fn->createString(&task, nothing, 0);
    replies->skipping = false;
    replies->unfinished = reader->len - reader->pos;
    return *parsed_out ? REDLATCH_OK : REDLATCH_NO_MEMORY;
}

int replies_next(struct replies *replies, const struct reply_bounds *bounds, void **parsed_out) {
    redisReader *reader = replies->reader;
    *parsed_out = NULL;
    if (reader->ridx == -1 && reader->pos == reader->len && !replies->skipping) {
        return REDLATCH_AGAIN; /* the parser begins with a reply only when it has some of its bytes */
    }
    if (bounds->skips && !replies->skipping && find_long_string(replies, bounds->size_max) == REDLATCH_AGAIN) {
        return REDLATCH_AGAIN;
    }
    if (replies->skipping) {
        return end_skipping(replies, parsed_out);
    }
    if (reader->ridx == -1) { /* the bounds may change before the reply ends, if its command is abandoned */
        replies->flat = bounds->skips;
    }
    if (redisReaderGetReply(reader, parsed_out) != REDIS_OK) {
        return reader->err == REDIS_ERR_OOM && !replies->refused ? REDLATCH_NO_MEMORY : REDLATCH_PROTOCOL;
    }
    if (*parsed_out) {
        replies->unfinished = reader->len - reader->pos;
        return REDLATCH_OK;
    }
    return replies->unfinished > bounds->size_max ? REDLATCH_PROTOCOL : REDLATCH_AGAIN;
}
