/* What every fuzz target needs: input bytes taken one by one, and invariants that abort the program when they are
 * false.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A target is a program with the function below. libFuzzer calls it with inputs that it generates. Without libFuzzer,
 * replay.c calls it with the inputs of the corpus. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* An invariant. An input that breaks it is a finding. */
#define MUST(condition) ((condition) ? (void)0 : fuzz_broken(#condition, __FILE__, __LINE__))

static inline _Noreturn void fuzz_broken(const char *condition, const char *file, int line) {
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, condition);
    abort();
}

/* The rest of an input. After its end it yields zeros, so that every input has a meaning. */
struct input {
    const uint8_t *bytes;
    size_t size;
};

static inline uint8_t input_byte(struct input *input) {
    if (input->size == 0) {
        return 0;
    }
    input->size--;
    return *input->bytes++;
}

/* A number below `limit`, from one byte. */
static inline unsigned input_below(struct input *input, unsigned limit) {
    return input_byte(input) % limit;
}

/* Any 64 bits. Most findings need special numbers, so a byte chooses between these and eight bytes of the input. */
static inline int64_t input_number(struct input *input) {
    static const int64_t special[] = {0,
                                      1,
                                      -1,
                                      2,
                                      INT32_MAX,
                                      UINT32_MAX,
                                      INT64_MAX,
                                      INT64_MIN,
                                      INT64_MIN / 2,
                                      1000,
                                      -2,
                                      9007199254740993,
                                      INT64_MAX / 1000,
                                      INT64_MAX / 1000 + 1,
                                      30000,
                                      86400000};
    enum { SPECIALS = sizeof special / sizeof special[0] };
    uint8_t choice = input_byte(input);
    if (choice < SPECIALS) {
        return special[choice];
    }
    if (choice < 0xe0) {
        return choice - SPECIALS;
    }
    uint64_t number = 0;
    for (int i = 0; i < 8; i++) {
        number = number << 8 | input_byte(input);
    }
    return (int64_t)number;
}

/* Returns the rest, up to the first NUL byte, as a C string in memory of exactly its size, so that a sanitizer sees a
 * read beyond its end. The caller frees it. */
static inline char *input_rest_as_text(struct input *input) {
    size_t size = 0;
    while (size < input->size && input->bytes[size] != 0) {
        size++;
    }
    char *text = malloc(size + 1);
    MUST(text);
    memcpy(text, input->bytes, size);
    text[size] = '\0';
    input->bytes += input->size;
    input->size = 0;
    return text;
}

#endif
