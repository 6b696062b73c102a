/* redlatch_last_error and redlatch_last_reason.
 * SPDX-License-Identifier: Apache-2.0 */
#include "errors.h"

#include <stdarg.h>
#include <stdio.h>

#include "redlatch.h"

static _Thread_local struct error_text last;

const char *redlatch_last_error(void) {
    return last.text;
}

int redlatch_last_reason(void) {
    return last.reason;
}

int fail_with(int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last.text, sizeof last.text, format, arguments);
    va_end(arguments);
    last.reason = REDLATCH_REASON_NONE;
    return status;
}

int fail_plain(int status) {
    return fail_with(status, "%s", redlatch_strerror(status));
}

int fail_bad_handle(const void *handle, const char *what, const char *maker) {
    return fail_with(REDLATCH_BAD_HANDLE, "%s is %s: expected one that %s made", what,
                     handle ? "freed or of another type" : "NULL", maker);
}

int fail_for(int status, int reason) {
    last.reason = reason;
    return status;
}

void error_text_swap(struct error_text *other) {
    struct error_text mine = last;
    last = *other;
    *other = mine;
}

const char *reason_text(int reason) {
    switch ((enum redlatch_reason)reason) {
    case REDLATCH_REASON_EXPIRED:
        return "its lease ran out without a renewal";
    case REDLATCH_REASON_MISSING:
        return "the server no longer knows of it (released by force, deleted, or lost with the server's data)";
    case REDLATCH_REASON_MAX_HOLD:
        return "its max_hold was reached";
    case REDLATCH_REASON_ABANDONED:
        return "the thread that held it has ended";
    case REDLATCH_REASON_NONE:
        break;
    }
    return "the reason is not known";
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
