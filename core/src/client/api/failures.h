/* Failed calls in words: what was asked of which name, and why it failed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FAILURES_H
#define FAILURES_H

#include "errors.h"
#include "handles.h"

/* What an operation does to its name, as a message begins: "acquire", "set permits of". */
const char *verb_of(const struct operation *operation);

/* What a failed call found out for its message (explain.c). */
struct finding {
    int32_t detected_kind; /* enum redlatch_detected_kind of what is there; NOTHING if that was not found out */
    char type[16];
    struct resource *resource; /* the name that this is about */
    uint8_t lock_kind;         /* as which it is used */
    uint64_t holders;
    char owner[128]; /* one of them; empty if that was not found out */
    struct process_location location;
};

/* Each sets the last error for a failed call and returns the status. `call` knows the connection, the server's words
 * about its access rules, and why a hold was lost; it may be NULL where no name is waited for. With the client's mutex.
 */

/* About one name. */
int request_failed(const struct client *client, const struct request *request, const char *verb, const char *name,
                   size_t size, int status);

/* About names that are shown already. */
int request_failed_of(const struct client *client, const struct request *request, const char *verb, const char *names,
                      int status);

/* About the name of a lock or of something counted, for which somebody may have waited. */
int resource_request_failed(const struct resource *resource, const struct request *request, const char *verb,
                            int status, int64_t wait_ms);

/* About what the operation of a request was: one name, or a set of them, of which one may be to blame. */
int operation_failed(const struct request *request, int64_t wait_ms);

/* Whether a status is of the connection, whose words name the server: of SYSTEM, because it cannot be opened. */
static inline bool status_has_detail(int status) {
    return (status <= -300 && status > -400) || status == REDLATCH_SYSTEM || status == REDLATCH_AUTHENTICATION ||
           status == REDLATCH_UNSUPPORTED || status == REDLATCH_NOT_WRITABLE;
}

#endif
