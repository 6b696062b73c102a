/* Reading calls and writing outcomes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver_json.h"

#include <redlatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void misunderstood(const char *format, ...) {
    char words[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    json_t *answer = json_pack("{s:s}", "error", words);
    char *line = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
    puts(line ? line : "{\"error\": \"one that cannot be shown\"}");
    fflush(stdout);
    _Exit(1);
}

static json_t *member_of(const json_t *call, const char *member) {
    json_t *found = json_object_get(call, member);
    if (!found) {
        misunderstood("the call has no member %s", member);
    }
    return found;
}

const char *string_of(const json_t *call, const char *member) {
    const char *found = json_string_value(member_of(call, member));
    if (!found) {
        misunderstood("%s is no string", member);
    }
    return found;
}

int64_t milliseconds_of(const json_t *call, const char *member, const char *word, int64_t meaning) {
    const json_t *found = member_of(call, member);
    if (json_is_integer(found)) {
        return json_integer_value(found);
    }
    if (!word || !json_is_string(found) || strcmp(json_string_value(found), word) != 0) {
        misunderstood("%s is neither a number of milliseconds nor %s", member, word ? word : "a word");
    }
    return meaning;
}

static int digit_of(char character) {
    const char *digits = "0123456789abcdef";
    const char *found = character ? strchr(digits, character) : NULL;
    if (!found) {
        misunderstood("hexadecimal with another character than 0 to 9 and a to f, or an odd number of them");
    }
    return (int)(found - digits);
}

struct text text_of(const json_t *call, const char *member) {
    const json_t *found = member_of(call, member);
    const char *digits = json_is_object(found) ? string_of(found, "hex") : NULL;
    const char *plain = digits ? NULL : string_of(call, member);
    size_t size = digits ? strlen(digits) / 2 + strlen(digits) % 2 : json_string_length(found);
    struct text text = {malloc(size + 1), size};
    if (!text.bytes) {
        misunderstood("out of memory");
    }
    if (plain) {
        memcpy(text.bytes, plain, size);
    }
    for (size_t i = 0; digits && i < size; i++) {
        text.bytes[i] = (char)(digit_of(digits[2 * i]) << 4 | digit_of(digits[2 * i + 1]));
    }
    text.bytes[size] = '\0';
    return text;
}

json_t *outcome(int status, json_t *value) {
    json_t *answer = json_pack("{s:s}", "status", redlatch_status_name(status));
    if (status != REDLATCH_OK) {
        json_decref(value);
        json_object_set_new(answer, "message", json_string(redlatch_last_error()));
    } else if (value) {
        json_object_set_new(answer, "value", value);
    }
    return answer;
}
