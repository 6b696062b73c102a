/* The thread's error queue of OpenSSL. OpenSSL judges its calls by this queue and clears it in a handshake. So the
 * host's errors are taken off before a call and put back after it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "tls_parts.h"

void tls_queue_put_aside(struct tls_queue *queue) {
    queue->count = 0;
    const char *file, *function, *data;
    int line, flags;
    unsigned long code;
    while (queue->count < TLS_QUEUE_MAX && (code = ERR_get_error_all(&file, &line, &function, &data, &flags)) != 0) {
        struct tls_queued *error = &queue->errors[queue->count++];
        error->code = code;
        error->line = line;
        snprintf(error->file, sizeof error->file, "%s", file);
        snprintf(error->function, sizeof error->function, "%s", function);
        snprintf(error->data, sizeof error->data, "%s", flags & ERR_TXT_STRING ? data : "");
    }
    ERR_clear_error();
}

void tls_queue_put_back(const struct tls_queue *queue) {
    ERR_clear_error();
    for (int i = 0; i < queue->count; i++) {
        const struct tls_queued *error = &queue->errors[i];
        ERR_new();
        ERR_set_debug(error->file, error->line, error->function);
        ERR_set_error(ERR_GET_LIB(error->code), ERR_GET_REASON(error->code), error->data[0] ? "%s" : NULL, error->data);
    }
}
