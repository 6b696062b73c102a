/* The key of a plain lock. Other libraries put text around the name, so the key is made of a template and the name.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KEY_TEMPLATE_H
#define KEY_TEMPLATE_H

#include <stddef.h>

#include "redlatch.h"

/* The key on the server, without the client's prefix. */
struct key {
    const char *bytes;
    size_t size;
    char *made; /* to be freed; NULL if the key is the name itself */
};

/* Puts a name into the options' template, if they have one. Returns OK, or INVALID or NO_MEMORY with the last error
 * set. */
int key_of_name(const redlatch_lock_options *options, const char *name, size_t name_size, struct key *key_out);

#endif
