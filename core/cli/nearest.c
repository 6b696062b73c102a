/* Finds the word that a mistyped word was probably meant to be.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { WORD_MAX = 40, FAR = WORD_MAX };

static int least(int one, int other, int third) {
    int less = one < other ? one : other;
    return less < third ? less : third;
}

/* Returns how many letters have to be inserted, deleted, changed or exchanged with a neighbour to make one word the
 * other. Returns FAR if a word is longer than WORD_MAX. */
static int distance(const char *one, const char *other) {
    int rows[3][WORD_MAX + 1];
    size_t one_size = strlen(one);
    size_t other_size = strlen(other);
    if (one_size > WORD_MAX || other_size > WORD_MAX) {
        return FAR;
    }
    for (size_t j = 0; j <= other_size; j++) {
        rows[0][j] = (int)j;
    }
    for (size_t i = 1; i <= one_size; i++) {
        int *row = rows[i % 3];
        const int *before = rows[(i + 2) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= other_size; j++) {
            int changed = before[j - 1] + (one[i - 1] != other[j - 1]);
            row[j] = least(changed, before[j] + 1, row[j - 1] + 1);
            bool exchanged = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
            if (exchanged) {
                row[j] = least(row[j], rows[(i + 1) % 3][j - 2] + 1, FAR);
            }
        }
    }
    return rows[one_size % 3][other_size];
}

const char *nearest_word(const char *typed, const char *(*word)(const void *words, size_t index), const void *words) {
    const char *nearest = NULL;
    int nearest_distance = strlen(typed) <= 3 ? 2 : 3; /* a word at this distance is too far */
    const char *candidate;
    for (size_t i = 0; (candidate = word(words, i)) != NULL; i++) {
        int far = distance(typed, candidate);
        if (far < nearest_distance) {
            nearest = candidate;
            nearest_distance = far;
        }
    }
    return nearest;
}
