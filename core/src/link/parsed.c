/* Converting a redisReply to struct reply. Replies of scripts and messages have one level of elements; those of
 * sentinels have two.
 * SPDX-License-Identifier: Apache-2.0 */
#include "parsed.h"

#include <hiredis.h>

void reply_free(void *parsed) {
    if (parsed) {
        freeReplyObject(parsed);
    }
}

void reply_holder_clear(struct reply_holder *holder) {
    reply_free(holder->parsed);
    holder->parsed = NULL;
}

/* Converts a reply without its elements. Returns false for types of newer versions of the protocol. */
static bool show(struct reply *reply, const redisReply *parsed) {
    reply->text = "";
    reply->size = 0;
    reply->integer = 0;
    reply->count = 0;
    reply->acknowledgement = NULL;
    switch (parsed->type) {
    case REDIS_REPLY_INTEGER:
        reply->kind = REPLY_INTEGER;
        reply->integer = parsed->integer;
        break;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
        reply->kind = parsed->type == REDIS_REPLY_ERROR ? REPLY_ERROR : REPLY_STRING;
        reply->text = parsed->str;
        reply->size = (size_t)parsed->len;
        break;
    case REDIS_REPLY_ARRAY:
        reply->kind = REPLY_ARRAY;
        break;
    case REDIS_REPLY_NIL:
        reply->kind = REPLY_NIL;
        break;
    default:
        return false;
    }
    return true;
}

void *reply_holder_take(struct reply_holder *holder) {
    void *parsed = holder->parsed;
    holder->parsed = NULL;
    return parsed;
}

bool reply_holder_show(struct reply_holder *holder, void *parsed) {
    reply_holder_clear(holder);
    const redisReply *top = parsed;
    holder->parsed = parsed;
    bool known = show(&holder->reply, top);
    if (known) { /* other kinds than arrays have no elements */
        size_t count = top->elements < REPLY_ELEMENTS_MAX ? top->elements : REPLY_ELEMENTS_MAX;
        for (size_t i = 0; i < count; i++) {
            known = show(&holder->elements[i], top->element[i]) && known;
        }
        holder->reply.elements = holder->elements;
        holder->reply.count = count;
    }
    return known;
}

size_t reply_holder_inner(const struct reply_holder *holder, size_t element, struct reply *elements, size_t size) {
    const redisReply *top = holder->parsed;
    const redisReply *inner = top && element < top->elements ? top->element[element] : NULL;
    size_t count = 0; /* only arrays have elements: reply_holder_show refuses all else that could */
    while (inner && count < inner->elements && count < size && show(&elements[count], inner->element[count])) {
        count++;
    }
    return count;
}
