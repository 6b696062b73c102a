/* Error texts of failed calls: which operation failed on which name, and why.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FAILURES_H
#define FAILURES_H

#include "errors.h"
#include "handles.h"

/* Returns the verb with which an operation's error text begins: "acquire", "set permits of". */
const char *verb_of(const struct operation *operation);

/* What the explanation of a failed call found (explain.c). */
struct finding {
    int32_t detected_kind; /* enum redlatch_detected_kind of what is there; NOTHING if that was not found out */
    char type[16];
    struct resource *resource; /* the name that this is about */
    uint8_t lock_kind;         /* the kind that it is used as */
    uint64_t holders;
    char owner[128]; /* the id of one holder; empty if none was found */
    struct process_location location;
};

/* Each of these sets the last error for a failed call and returns the status. `request` has the connection, the text of
 * the server's error reply, and the reason of a loss. The first two allow NULL for it. With the client's mutex. */

/* About one name. */
int request_failed(const struct client *client, const struct request *request, const char *verb, const char *name,
                   size_t size, int status);

/* About names that were made a text already. */
int request_failed_of(const struct client *client, const struct request *request, const char *verb, const char *names,
                      int status);

/* About the resource of a call that may have waited for others: `wait_ms` is for the text of a TIMEOUT. */
int resource_request_failed(const struct resource *resource, const struct request *request, const char *verb,
                            int status, int64_t wait_ms);

/* About the operation of a request, on one name or on a set. If one member of the set is to blame, the text is about
 * it. */
int operation_failed(const struct request *request, int64_t wait_ms);

/* Returns whether the status comes from the connection, whose detail names the server. SYSTEM does if no socket can be
 * opened. */
static inline bool status_has_detail(int status) {
    return (status <= -300 && status > -400) || status == REDLATCH_SYSTEM || status == REDLATCH_AUTHENTICATION ||
           status == REDLATCH_UNSUPPORTED || status == REDLATCH_NOT_WRITABLE;
}

#endif
