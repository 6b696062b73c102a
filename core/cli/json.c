/* Reports as JSON, written by Jansson. Names and owners are bytes and JSON is UTF-8: what is not valid becomes U+FFFD,
 * and the true bytes stand beside it in hexadecimal.
 * SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "found.h"

/* Each byte that is not ASCII becomes a replacement character. */
static json_t *replaced(const char *text, size_t size) {
    static const char replacement[] = "\xef\xbf\xbd";
    char *good = malloc(3 * size + 1);
    if (!good) {
        return NULL;
    }
    size_t at = 0;
    for (size_t i = 0; i < size; i++) {
        bool ascii = (unsigned char)text[i] < 0x80;
        memcpy(good + at, ascii ? text + i : replacement, ascii ? 1 : 3);
        at += ascii ? 1 : 3;
    }
    json_t *string = json_stringn(good, at);
    free(good);
    return string;
}

static json_t *hexadecimal(const char *text, size_t size) {
    static const char digits[] = "0123456789abcdef";
    char *hex = malloc(2 * size + 1);
    if (!hex) {
        return NULL;
    }
    for (size_t i = 0; i < size; i++) {
        hex[2 * i] = digits[(unsigned char)text[i] >> 4];
        hex[2 * i + 1] = digits[(unsigned char)text[i] & 15];
    }
    json_t *string = json_stringn(hex, 2 * size);
    free(hex);
    return string;
}

/* A member of bytes; with its bytes in hexadecimal, as `hex_key`, if they are not UTF-8. 0 or -1. */
static int set_bytes(json_t *object, const char *key, const char *hex_key, const char *text, size_t size) {
    json_t *string = json_stringn(text, size);
    if (string) {
        return json_object_set_new(object, key, string);
    }
    int failed = json_object_set_new(object, key, replaced(text, size));
    return failed | json_object_set_new(object, hex_key, hexadecimal(text, size));
}

static int add_party(json_t *holders, json_t *waiters, const redlatch_party *party) {
    if (party->role == REDLATCH_WAITER) {
        json_t *owner = json_string(party->owner);
        return json_array_append_new(waiters, owner ? owner : replaced(party->owner, strlen(party->owner)));
    }
    json_t *holder = json_object();
    int failed = set_bytes(holder, "owner", "owner_hex", party->owner, strlen(party->owner));
    failed |= json_object_set_new(holder, "count", json_integer((json_int_t)party->count));
    if (party->pid) {
        failed |= set_bytes(holder, "host", "host_hex", party->host, strlen(party->host));
        failed |= json_object_set_new(holder, "pid", json_integer(party->pid));
    }
    if (party->label[0]) {
        failed |= set_bytes(holder, "label", "label_hex", party->label, strlen(party->label));
    }
    if (party->value[0]) {
        failed |= set_bytes(holder, "value", "value_hex", party->value, strlen(party->value));
    }
    if (party->ttl_ms >= 0) {
        failed |= json_object_set_new(holder, "ttl_ms", json_integer(party->ttl_ms));
    }
    if (party->role != REDLATCH_HOLDER) {
        failed |= json_object_set_new(holder, "role", json_string(role_name(party->role)));
    }
    return failed | json_array_append_new(holders, holder);
}

static json_t *object_of(const struct found *found) {
    const redlatch_facts *facts = &found->facts;
    json_t *object = json_object();
    json_t *holders = json_array();
    json_t *waiters = json_array();
    int failed = 0;
    redlatch_party party;
    for (uint64_t i = 0; found_party(found, i, &party); i++) {
        failed |= add_party(holders, waiters, &party);
    }
    failed |= set_bytes(object, "name", "name_hex", found->name, (size_t)facts->name_size);
    failed |= json_object_set_new(object, "kind", json_string(redlatch_detected_kind_name(facts->detected_kind)));
    if (!found_is_count(found)) {
        failed |= json_object_set_new(object, "held", json_boolean(found_is_held(found)));
    }
    failed |= json_object_set_new(object, "holders", holders);
    failed |= json_object_set_new(object, "holder_count", json_integer((json_int_t)facts->holders));
    failed |= json_object_set_new(object, "ttl_ms", json_integer(facts->ttl_ms));
    failed |= json_object_set_new(object, "waiters", waiters);
    failed |= json_object_set_new(object, "waiter_count", json_integer((json_int_t)facts->waiters));
    if (facts->detected_kind == REDLATCH_DETECTED_FENCED) {
        failed |= json_object_set_new(object, "token", json_integer((json_int_t)facts->token));
    }
    if (found_is_count(found)) {
        failed |= json_object_set_new(object, "number", json_integer(facts->count));
    }
    failed |= set_bytes(object, "type", "type_hex", facts->type, strlen(facts->type));
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* Characters that JSON may have as they are and a terminal may not: DEL, the controls of eight bits, and what is not
 * seen but changes the direction of writing or ends a line. Such a character of UTF-8 and its size; 0 for any other. */
static unsigned unfit_character(const char *text, size_t *size_out) {
    const unsigned char *at = (const unsigned char *)text;
    unsigned code = at[0] == 0x7f ? 0x7f : 0;
    *size_out = 1;
    if (at[0] == 0xc2 && at[1] < 0xa0) {
        *size_out = 2;
        code = at[1];
    } else if (at[0] >= 0xe0 && at[0] < 0xf0) {
        *size_out = 3;
        code = (at[0] & 15u) << 12 | (at[1] & 63u) << 6 | (at[2] & 63u);
        bool unfit = (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                     (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
        code = unfit ? code : 0;
    }
    return code;
}

/* Strings are all that such a character may stand in. */
static void print_fit(const char *text) {
    size_t begun = 0;
    size_t at = 0;
    while (text[at]) {
        size_t size;
        unsigned code = unfit_character(text + at, &size);
        if (code) {
            fwrite(text + begun, 1, at - begun, stdout);
            printf("\\u%04x", code);
            begun = at + size;
        }
        at += size;
    }
    fwrite(text + begun, 1, at - begun, stdout);
    putchar('\n');
}

static bool print(json_t *value) {
    char *text = value ? json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY) : NULL;
    if (text) {
        print_fit(text);
    }
    bool good = text != NULL;
    free(text);
    json_decref(value);
    return good;
}

bool json_print_one(const struct found *found) {
    return print(object_of(found));
}

bool json_print_all(const struct found *found, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        if (json_array_append_new(array, object_of(&found[i])) != 0) {
            json_decref(array);
            return false;
        }
    }
    return print(array);
}
