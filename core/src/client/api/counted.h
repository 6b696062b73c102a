/* What the handles of semaphores and latches share: a client, a name, calls of one command whose reply is a number, and
 * waits.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COUNTED_H
#define COUNTED_H

#include "failures.h"
#include "options.h"
#include "resumable_wait.h"

/* One command that changes or asks about a count. */
struct count_request {
    enum change change;
    int64_t amount;
    int64_t ttl_ms; /* SEMAPHORE_TRY_SET: 0 for none; PERMITS_EXTEND: the lease */
    uint64_t owner; /* of a permit of this client: the operation is on its hold, and has no number as result. Else 0 */
    unsigned char permit[PERMIT_SIZE];
};

/* Checks the arguments of a new handle: `out` is its out argument. Takes references to the resource of its name and to
 * the client. Returns OK, or a status with the last error set. */
int counted_name(redlatch_client *handle, uint8_t kind, const char *name, size_t size, const void *out,
                 struct resource **resource_out);

/* Fills in the options of a new semaphore: `given`, or the defaults if that is NULL. Returns OK, or INVALID with the
 * last error set. */
int semaphore_options_of(const redlatch_semaphore_options *given, bool has_leases,
                         redlatch_semaphore_options *options_out);

/* Drops the references that counted_name took. */
void counted_drop(struct client *client, struct resource *resource);

/* Each makes the call and waits for its reply. The number, or 1 or 0 for yes or no, goes to the last argument, which
 * may be NULL. */
int counted_request(struct client *client, struct resource *resource, const struct count_request *what,
                    int64_t *number_out);
int counted_flag(struct client *client, struct resource *resource, const struct count_request *what,
                 int32_t *answer_out);

/* Returns the status of such a call that is done, blocking or not. *number_out becomes the number for the caller: 1 or
 * 0 for yes or no, and 0 if the call failed or has no number. */
int counted_outcome(const struct operation *operation, int64_t *number_out);

/* Starts the call. It completes with an event of the kind `event`. */
int counted_start(struct client *client, struct resource *resource, const struct count_request *what, int32_t event,
                  uint64_t tag);

/* A wait for permits or for a latch. */
struct count_wait {
    struct client *client;
    struct resource *resource;
    int64_t amount;
    int64_t limit;   /* creates a semaphore that does not exist with this many permits; 0: does not create it */
    bool must_exist; /* the wait ends with NOT_FOUND if the semaphore does not exist */
    int64_t wait_ms;
    uint8_t kind;                                  /* enum operation_kind: ACQUIRE, WATCH */
    int64_t lease_ms;                              /* of permits with ids */
    void (*give_back)(struct redlatch_wait *wait); /* the grant of a wait that was dropped; NULL: there is none */
};

/* Waits. `serial_out`, which may be NULL, is set on OK. */
int counted_wait(const struct count_wait *wait, struct redlatch_cancel *cancel, uint64_t *serial_out);

/* Makes a resumable wait. */
int counted_begin_wait(const struct count_wait *given, struct redlatch_cancel *cancel, redlatch_wait **wait_out);

/* Starts a wait that completes with an event of the kind `event`. */
int counted_start_wait(const struct count_wait *wait, int32_t event, uint64_t tag);

/* Sets the last error for such a call that failed, and returns the status. With the mutex. */
int counted_failed(const struct request *request, int status);

/* Returns OK if `amount` is from `low` to REDLATCH_PERMITS_MAX, else INVALID with the last error set. */
int check_amount(const char *what, int64_t amount, int64_t low);

#endif
