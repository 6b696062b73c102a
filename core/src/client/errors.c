/* redlatch_last_error.
 * SPDX-License-Identifier: Apache-2.0 */
#include "errors.h"

#include <stdarg.h>
#include <stdio.h>

#include "redlatch.h"

static _Thread_local char last_error[512];

const char *redlatch_last_error(void) {
    return last_error;
}

int fail_with(int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    return status;
}

int fail_plain(int status) {
    return fail_with(status, "%s", redlatch_strerror(status));
}

const char *shown_name(const char *name, size_t size, char text[64]) {
    size_t length = size <= 60 ? size : 57;
    for (size_t i = 0; i < length; i++) {
        text[i] = name[i] >= ' ' && name[i] <= '~' ? name[i] : '.';
    }
    for (size_t i = 0; length < size && i < 3; i++) {
        text[length + i] = '.';
    }
    text[length < size ? length + 3 : length] = '\0';
    return text;
}
