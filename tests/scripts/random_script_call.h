/* Random calls of scripts, from a table of their keys and arguments.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RANDOM_SCRIPT_CALL_H
#define RANDOM_SCRIPT_CALL_H

#include "random_state.h"
#include "scripts_embedded.h"

enum { CALL_WORDS_MAX = 64, CALL_WORD_SIZE = 128 };

struct script_call {
    struct redis_text words[CALL_WORDS_MAX]; /* keys, then arguments */
    uint32_t key_count, count;
    char texts[CALL_WORDS_MAX][CALL_WORD_SIZE];
};

/* Returns whether calls of the script can be made. */
bool script_call_is_known(enum script_id script);

/* Fills the keyspace with what such a call may find, and makes the call. */
void script_call_make(struct random_draw *draw, enum script_id script, struct keyspace *keyspace,
                      struct script_call *call_out);

#endif
