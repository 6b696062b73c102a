/* Byte strings of the in-memory Redis, borrowed and owned. Numbers are written and read as Redis does.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REDIS_TEXT_H
#define REDIS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Borrowed bytes; any byte may occur. */
struct redis_text {
    const char *bytes;
    size_t size;
};

/* Owned bytes in one allocation, with a NUL behind them. Freed with free(). */
struct stored_text {
    size_t size;
    char bytes[];
};

/* The bytes of a C string. */
static inline struct redis_text redis_text(const char *string) {
    return (struct redis_text){string, strlen(string)};
}

static inline struct redis_text text_view(const struct stored_text *text) {
    return (struct redis_text){text->bytes, text->size};
}

static inline bool text_equal(struct redis_text left, struct redis_text right) {
    return left.size == right.size && (left.size == 0 || memcmp(left.bytes, right.bytes, left.size) == 0);
}

/* Returns whether the text is this word in any case. `word` is in lower case. */
bool text_is_word(struct redis_text text, const char *word);

struct stored_text *text_store(struct redis_text text);

/* Compares bytes. A prefix comes before the texts that it begins. */
int text_compare(struct redis_text left, struct redis_text right);

/* These end the program if there is no memory. The simulation could not go on without it. */
void *allocate(size_t count, size_t size);
void *reallocate(void *memory, size_t count, size_t size);

enum { NUMBER_TEXT_SIZE = 40 };

/* Both write at most NUMBER_TEXT_SIZE bytes with a NUL and return the length. A double is printed as by %.17g. */
size_t integer_format(int64_t number, char *out);
size_t double_format(double number, char *out);

/* As strict as Redis: no spaces, no +, no leading zeros, no -0, nothing beyond 64 bits. */
bool integer_parse(struct redis_text text, int64_t *number_out);

/* Reads a score or an increment: strtod of the whole text, without leading spaces, neither NaN nor out of range. */
bool double_parse(struct redis_text text, double *number_out);

/* Reads a bound of a range of scores. `(` before a bound excludes the bound itself. As in Redis, a bound is read less
 * strictly than a score: an empty text is 0, and leading spaces are allowed. */
bool bound_parse(struct redis_text text, double *bound_out, bool *exclusive_out);

#endif
