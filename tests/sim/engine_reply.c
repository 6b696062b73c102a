/* Converts a reply of the in-memory Redis to a reply for the engine.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_reply.h"

#include <assert.h>

static struct reply one_reply(const struct redis_reply *from) {
    static const enum reply_kind kinds[] = {
        [REDIS_NIL] = REPLY_NIL,     [REDIS_INTEGER] = REPLY_INTEGER, [REDIS_STATUS] = REPLY_STRING,
        [REDIS_BULK] = REPLY_STRING, [REDIS_ERROR] = REPLY_ERROR,     [REDIS_ARRAY] = REPLY_ARRAY};
    struct reply reply = {.kind = kinds[from->kind]};
    if (from->kind == REDIS_INTEGER) {
        reply.integer = from->integer;
    } else if (from->kind == REDIS_STATUS || from->kind == REDIS_BULK || from->kind == REDIS_ERROR) {
        reply.text = from->text;
        reply.size = from->size;
    }
    return reply;
}

struct reply engine_reply(const struct redis_reply *from, struct reply elements[REPLY_ELEMENTS_MAX]) {
    struct reply reply = one_reply(from);
    if (from->kind == REDIS_ARRAY) {
        assert(from->size <= REPLY_ELEMENTS_MAX);
        for (size_t i = 0; i < from->size; i++) {
            elements[i] = one_reply(&from->elements[i]);
        }
        reply.elements = elements;
        reply.count = from->size;
    }
    return reply;
}
