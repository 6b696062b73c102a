/* A command line as it is typed, quotes and all, for completion.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TYPED_H
#define TYPED_H

#include "cli.h"

struct typed {
    struct server_options server; /* what the words say of it */
    const char *last;             /* the word that is to be completed, without quotes */
};

/* Reads the words of a line, the program's name first. Quotes and backslashes are taken off, and variables of the
 * environment put in. false: a word needs what only the shell knows. The memory is kept until the program ends. */
bool typed_read(struct typed *typed, int count, char **words);

#endif
