/* The key of a plain lock. Other libraries put text around the name, so the key is made of a template and the name.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "key_template.h"

#include <stdlib.h>
#include <string.h>

#include "errors.h"

static const char placeholder[] = "{name}";
enum { PLACEHOLDER_SIZE = sizeof placeholder - 1 };

int key_of_name(const redlatch_lock_options *options, const char *name, size_t name_size, struct key *key_out) {
    const char *template = options->key_template;
    *key_out = (struct key){name, name_size, NULL}; /* also on failure: there is nothing to free */
    if (!template) {
        return REDLATCH_OK;
    }
    if (options->key_template_size > REDLATCH_NAME_SIZE_MAX) {
        return fail_with(REDLATCH_INVALID, "key_template has %llu bytes: expected up to %d",
                         (unsigned long long)options->key_template_size, REDLATCH_NAME_SIZE_MAX);
    }
    size_t size = (size_t)options->key_template_size;
    const char *found = memmem(template, size, placeholder, PLACEHOLDER_SIZE);
    size_t before = found ? (size_t)(found - template) : 0;
    size_t after = found ? size - before - PLACEHOLDER_SIZE : 0;
    if (!found || memmem(found + PLACEHOLDER_SIZE, after, placeholder, PLACEHOLDER_SIZE)) {
        char shown[64];
        shown_name(template, size, shown);
        return fail_with(REDLATCH_INVALID, "key_template is \"%s\": expected one %s in it", shown, placeholder);
    }
    char *key = malloc(before + name_size + after);
    if (!key) {
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    memcpy(key, template, before);
    memcpy(key + before, name, name_size);
    memcpy(key + before + name_size, found + PLACEHOLDER_SIZE, after);
    *key_out = (struct key){key, before + name_size + after, key};
    return REDLATCH_OK;
}
