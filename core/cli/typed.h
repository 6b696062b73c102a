/* A command line as it is typed, with its quotes, for completion.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TYPED_H
#define TYPED_H

#include "cli.h"

struct typed {
    struct server_options server; /* the options of the server among the words */
    const char *last;             /* the word that is to be completed, without quotes */
    char **text;                  /* where these texts are */
    int text_count;
};

/* Reads the words of a line, the program's name first. Removes quotes and backslashes, and expands environment
 * variables. Returns false if only the shell can expand a word, or if there is no memory. The caller calls typed_free
 * in any case. */
bool typed_read(struct typed *typed, int count, char **words);
void typed_free(struct typed *typed);

#endif
