/* Byte strings of the in-memory Redis, and numbers written and read as Redis does.
 * SPDX-License-Identifier: Apache-2.0 */
#include "redis_text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Integers below this are exact in a double, and %.17g prints them without an exponent. */
#define PLAIN_DOUBLE 1e15

void *allocate(size_t count, size_t size) {
    return reallocate(NULL, count, size);
}

void *reallocate(void *memory, size_t count, size_t size) {
    void *result = count > SIZE_MAX / size ? NULL : realloc(memory, count * size);
    if (!result) {
        fprintf(stderr, "simulated Redis: no memory for %zu times %zu bytes\n", count, size);
        abort();
    }
    return result;
}

struct stored_text *text_store(struct redis_text text) {
    struct stored_text *stored = allocate(1, sizeof *stored + text.size + 1);
    stored->size = text.size;
    if (text.size > 0) {
        memcpy(stored->bytes, text.bytes, text.size);
    }
    stored->bytes[text.size] = '\0';
    return stored;
}

bool text_is_word(struct redis_text text, const char *word) {
    for (size_t i = 0; i < text.size; i++) {
        if (word[i] == '\0' || tolower((unsigned char)text.bytes[i]) != word[i]) {
            return false;
        }
    }
    return word[text.size] == '\0';
}

int text_compare(struct redis_text left, struct redis_text right) {
    size_t shorter = left.size < right.size ? left.size : right.size;
    int order = shorter == 0 ? 0 : memcmp(left.bytes, right.bytes, shorter);
    return order != 0 ? order : (left.size > right.size) - (left.size < right.size);
}

size_t integer_format(int64_t number, char *out) {
    char digits[NUMBER_TEXT_SIZE];
    size_t count = 0;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) {
        digits[count++] = '-';
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = digits[count - 1 - i];
    }
    out[count] = '\0';
    return count;
}

size_t double_format(double number, char *out) {
    if (number > -PLAIN_DOUBLE && number < PLAIN_DOUBLE && !(number == 0 && signbit(number))) {
        int64_t integer = (int64_t)number;
        if ((double)integer == number) {
            return integer_format(integer, out);
        }
    }
    return (size_t)snprintf(out, NUMBER_TEXT_SIZE, "%.17g", number);
}

bool integer_parse(struct redis_text text, int64_t *number_out) {
    size_t at = 0;
    bool negative = text.size > 0 && text.bytes[0] == '-';
    at += negative;
    if (text.size == 1 && text.bytes[0] == '0') {
        *number_out = 0;
        return true;
    }
    if (at == text.size || text.bytes[at] < '1' || text.bytes[at] > '9') {
        return false;
    }
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    uint64_t number = 0;
    for (; at < text.size; at++) {
        unsigned digit = (unsigned)(unsigned char)text.bytes[at] - '0';
        if (digit > 9 || number > (limit - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *number_out = !negative ? (int64_t)number : number == limit ? INT64_MIN : -(int64_t)number;
    return true;
}

/* Copies a text for strtod, which needs a NUL. Returns false if it has a NUL itself or is longer than any valid
 * number. */
static bool copy_terminated(struct redis_text text, char *out, size_t room) {
    if (text.size >= room || (text.size > 0 && memchr(text.bytes, '\0', text.size))) {
        return false;
    }
    if (text.size > 0) {
        memcpy(out, text.bytes, text.size);
    }
    out[text.size] = '\0';
    return true;
}

bool double_parse(struct redis_text text, double *number_out) {
    char copy[512];
    if (text.size == 0 || isspace((unsigned char)text.bytes[0]) || !copy_terminated(text, copy, sizeof copy)) {
        return false;
    }
    char *end = NULL;
    errno = 0;
    *number_out = strtod(copy, &end);
    bool out_of_range = errno == ERANGE && (isinf(*number_out) || *number_out == 0);
    return end == copy + text.size && !out_of_range && !isnan(*number_out);
}

bool bound_parse(struct redis_text text, double *bound_out, bool *exclusive_out) {
    char copy[512];
    if (!copy_terminated(text, copy, sizeof copy)) {
        return false;
    }
    *exclusive_out = copy[0] == '(';
    char *end = NULL;
    *bound_out = strtod(copy + *exclusive_out, &end);
    return *end == '\0' && !isnan(*bound_out);
}
