/* Fuzz target: the bytes of a server as replies. However they are cut into pieces, the replies and the final status are
 * the same, and every byte of a reply can be read.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first byte is the length of the pieces, less one. */
#include "replies.h"

#include "fuzz.h"
#include "parsed.h"

/* Limits of a reply's size. No input reaches LARGE: at a limit, small pieces may end the parsing earlier. Many reach
 * SMALL. */
enum { LARGE = 1 << 20, SMALL = 64 };

/* A sum over everything parsed, and how the parsing ended. */
struct outcome {
    uint64_t sum;
    uint32_t replies;
    int status;
};

static void add(struct outcome *outcome, const void *bytes, size_t size) {
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++) {
        outcome->sum = (outcome->sum ^ byte[i]) * UINT64_C(1099511628211);
    }
}

static void add_reply(struct outcome *outcome, const struct reply *reply) {
    add(outcome, &reply->kind, sizeof reply->kind);
    add(outcome, &reply->integer, sizeof reply->integer);
    add(outcome, reply->text, reply->size);
    MUST(reply->kind == REPLY_ARRAY || reply->count == 0);
    for (size_t i = 0; i < reply->count; i++) {
        add_reply(outcome, &reply->elements[i]);
    }
}

/* Takes the complete replies. */
static void take(struct replies *replies, const struct reply_bounds *bounds, struct reply_holder *holder,
                 struct outcome *outcome) {
    void *parsed;
    while ((outcome->status = replies_next(replies, bounds, &parsed)) == REDLATCH_OK) {
        MUST(parsed);
        if (!reply_holder_show(holder, parsed)) {
            outcome->status = REDLATCH_PROTOCOL;
            return;
        }
        add_reply(outcome, &holder->reply);
        outcome->replies++;
    }
    MUST(outcome->status == REDLATCH_AGAIN || outcome->status == REDLATCH_PROTOCOL);
}

static struct outcome parse(const uint8_t *bytes, size_t size, size_t piece, struct reply_bounds bounds) {
    struct outcome outcome = {.status = REDLATCH_AGAIN};
    struct replies replies = {.reader = NULL};
    struct reply_holder *holder = calloc(1, sizeof *holder);
    MUST(holder && replies_open(&replies));
    for (size_t at = 0; at < size && outcome.status == REDLATCH_AGAIN; at += piece) {
        size_t part = size - at < piece ? size - at : piece;
        char *exact = malloc(part);
        MUST(exact);
        memcpy(exact, bytes + at, part);
        MUST(replies_feed(&replies, exact, part) == REDLATCH_OK);
        free(exact);
        take(&replies, &bounds, holder, &outcome);
    }
    reply_holder_clear(holder);
    free(holder);
    replies_close(&replies);
    return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct input input = {bytes, size};
    size_t piece = 1 + (size_t)input_byte(&input);
    for (int skips = 0; skips < 2; skips++) {
        struct reply_bounds large = {LARGE, skips};
        struct reply_bounds small = {SMALL, skips};
        struct outcome whole = parse(input.bytes, input.size, input.size + 1, large);
        struct outcome pieces = parse(input.bytes, input.size, piece, large);
        MUST(whole.replies == pieces.replies && whole.sum == pieces.sum && whole.status == pieces.status);
        /* the end of a string that is skipped is not checked */
        MUST(skips || parse(input.bytes, input.size, piece, small).replies <= whole.replies);
    }
    return 0;
}
