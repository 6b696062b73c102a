/* hiredis' parser within bounds: by itself it buffers a reply of any size, and allocates whatever an array announces.
 * SPDX-License-Identifier: Apache-2.0 */
#include "replies.h"

#include <hiredis.h>
#include <stdlib.h>

#include "redlatch.h"

/* More elements than the longest array that any of our scripts returns. */
enum { ELEMENTS_MAX = 1024 };

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

/* hiredis' functions but for one, and the one that this one calls. */
struct bounded_functions {
    redisReplyObjectFunctions table;
    void *(*create_array)(const redisReadTask *task, element_count count);
};

static void *create_array(const redisReadTask *task, element_count count) {
    struct replies *replies = task->privdata;
    if (task->parent || count > ELEMENTS_MAX) {
        replies->refused = true;
        return NULL;
    }
    return replies->functions->create_array(task, count);
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
    replies->functions->table = *replies->reader->fn;
    replies->functions->create_array = replies->functions->table.createArray;
    replies->functions->table.createArray = create_array;
    replies->reader->fn = &replies->functions->table;
    replies->reader->privdata = replies;
    return true;
}

void replies_close(struct replies *replies) {
    if (replies->reader) {
        redisReaderFree(replies->reader);
    }
    free(replies->functions);
    replies->reader = NULL;
    replies->functions = NULL;
}

int replies_feed(struct replies *replies, const char *bytes, size_t size) {
    replies->unfinished += size;
    return redisReaderFeed(replies->reader, bytes, size) == REDIS_OK ? REDLATCH_OK : REDLATCH_NO_MEMORY;
}

int replies_next(struct replies *replies, size_t size_max, void **parsed_out) {
    redisReader *reader = replies->reader;
    *parsed_out = NULL;
    if (redisReaderGetReply(reader, parsed_out) != REDIS_OK) {
        return reader->err == REDIS_ERR_OOM && !replies->refused ? REDLATCH_NO_MEMORY : REDLATCH_PROTOCOL;
    }
    if (*parsed_out) {
        replies->unfinished = reader->len - reader->pos;
        return REDLATCH_OK;
    }
    return replies->unfinished > size_max ? REDLATCH_PROTOCOL : REDLATCH_AGAIN;
}
