/* Replies of the in-memory Redis.
 * SPDX-License-Identifier: Apache-2.0 */
#include "redis_reply.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

void redis_reply_nil(struct redis_reply *reply) {
    memset(reply, 0, sizeof *reply);
}

void redis_reply_integer(struct redis_reply *reply, int64_t integer) {
    redis_reply_nil(reply);
    reply->kind = REDIS_INTEGER;
    reply->integer = integer;
}

static void fill_text(struct redis_reply *reply, enum redis_reply_kind kind, struct redis_text text) {
    redis_reply_nil(reply);
    reply->kind = kind;
    reply->size = text.size;
    reply->text = allocate(text.size + 1, 1);
    if (text.size > 0) {
        memcpy(reply->text, text.bytes, text.size);
    }
    reply->text[text.size] = '\0';
}

static void blank_line_breaks(struct redis_reply *reply) {
    for (size_t i = 0; i < reply->size; i++) {
        if (reply->text[i] == '\r' || reply->text[i] == '\n') {
            reply->text[i] = ' ';
        }
    }
}

void redis_reply_bulk(struct redis_reply *reply, struct redis_text text) {
    fill_text(reply, REDIS_BULK, text);
}

void redis_reply_status(struct redis_reply *reply, struct redis_text text) {
    fill_text(reply, REDIS_STATUS, text);
    blank_line_breaks(reply);
}

void redis_reply_error(struct redis_reply *reply, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fill_text(reply, REDIS_ERROR, redis_text(text));
    blank_line_breaks(reply);
}

struct redis_reply *redis_reply_array(struct redis_reply *reply, size_t count) {
    redis_reply_nil(reply);
    reply->kind = REDIS_ARRAY;
    reply->size = count;
    if (count > 0) {
        reply->elements = allocate(count, sizeof *reply->elements);
        memset(reply->elements, 0, count * sizeof *reply->elements);
    }
    return reply->elements;
}

void redis_reply_free(struct redis_reply *reply) {
    switch (reply->kind) {
    case REDIS_STATUS:
    case REDIS_BULK:
    case REDIS_ERROR:
        free(reply->text);
        break;
    case REDIS_ARRAY:
        for (size_t i = 0; i < reply->size; i++) {
            redis_reply_free(&reply->elements[i]);
        }
        free(reply->elements);
        break;
    case REDIS_NIL:
    case REDIS_INTEGER:
        break;
    }
    redis_reply_nil(reply);
}

bool redis_reply_equal(const struct redis_reply *left, const struct redis_reply *right) {
    if (left->kind != right->kind || left->integer != right->integer || left->size != right->size) {
        return false;
    }
    if (left->kind != REDIS_ARRAY) {
        return left->size == 0 || memcmp(left->text, right->text, left->size) == 0;
    }
    for (size_t i = 0; i < left->size; i++) {
        if (!redis_reply_equal(&left->elements[i], &right->elements[i])) {
            return false;
        }
    }
    return true;
}

static void print_quoted(FILE *file, struct redis_text text) {
    fputc('"', file);
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        if (byte >= ' ' && byte < 127 && byte != '"' && byte != '\\') {
            fputc(byte, file);
        } else {
            fprintf(file, "\\x%02x", byte);
        }
    }
    fputc('"', file);
}

void redis_reply_print(FILE *file, const struct redis_reply *reply) {
    switch (reply->kind) {
    case REDIS_NIL:
        fputs("nil", file);
        break;
    case REDIS_INTEGER:
        fprintf(file, "%" PRId64, reply->integer);
        break;
    case REDIS_BULK:
        print_quoted(file, redis_reply_view(reply));
        break;
    case REDIS_STATUS:
    case REDIS_ERROR:
        fprintf(file, "%c%s", reply->kind == REDIS_STATUS ? '+' : '-', reply->text);
        break;
    case REDIS_ARRAY:
        fputc('[', file);
        for (size_t i = 0; i < reply->size; i++) {
            fputs(i == 0 ? "" : ", ", file);
            redis_reply_print(file, &reply->elements[i]);
        }
        fputc(']', file);
        break;
    }
}
