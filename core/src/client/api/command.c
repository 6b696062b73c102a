/* A command of the server's own, for what no function of ours does, and its reply as text.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "guard.h"
#include "inquiry.h"

static int check_arguments(const char *const *arguments, size_t count, const char *buffer, size_t capacity) {
    if (!arguments || count < 1 || count > REDLATCH_ARGUMENTS_MAX) {
        return fail_with(REDLATCH_INVALID, "count is %zu%s: expected 1 to %d arguments", count,
                         arguments ? "" : ", arguments NULL", REDLATCH_ARGUMENTS_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        if (!arguments[i]) {
            return fail_with(REDLATCH_INVALID, "arguments[%zu] is NULL: expected a text", i);
        }
    }
    if (!buffer || capacity < 1) {
        return fail_with(REDLATCH_INVALID, "buffer is %s: expected room for the reply", buffer ? "empty" : "NULL");
    }
    return REDLATCH_OK;
}

int redlatch_client_command(redlatch_client *handle, const char *const *arguments, size_t count, char *buffer,
                            size_t capacity, size_t *size_out) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK || (status = check_arguments(arguments, count, buffer, capacity)) != REDLATCH_OK) {
        return status;
    }
    struct inquiry inquiry = {.verb = "command"};
    inquiry.question = (struct question){.argument_count = (uint32_t)count, .plain = true};
    inquiry.subject = (struct argument_part){arguments[0], strlen(arguments[0])};
    for (size_t i = 0; i < count; i++) {
        inquiry.arguments[i] = (struct argument_part){arguments[i], strlen(arguments[i])};
    }
    status = inquiry_execute(handle->client, &inquiry);
    if (status == REDLATCH_OK) {
        size_t size = inquiry.size < capacity - 1 ? inquiry.size : capacity - 1;
        memcpy(buffer, inquiry.text, size);
        buffer[size] = '\0';
        if (size_out) {
            *size_out = inquiry.size;
        }
    }
    free(inquiry.text);
    return status;
}
