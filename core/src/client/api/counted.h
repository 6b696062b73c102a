/* What the handles of semaphores and latches share: a client, a name, and calls of one command with a number for an
 * answer.
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
    int64_t ttl_ms; /* try_set: 0 for none */
    uint64_t owner; /* of a permit that this client holds: the call is on its hold, and answers with a status alone */
    unsigned char permit[PERMIT_SIZE];
};

/* The name of a new handle, kept for it. OK, or a status with the last error set. */
int counted_name(redlatch_client *handle, uint8_t kind, const char *name, size_t size, const void *out,
                 struct resource **resource_out);

/* The options of a new semaphore, or the defaults. OK, or INVALID with the last error set. */
int semaphore_options_of(const redlatch_semaphore_options *given, bool has_leases,
                         redlatch_semaphore_options *options_out);

/* Lets go of the name when its handle is freed. */
void counted_drop(struct client *client, struct resource *resource);

/* Makes the call; hands out its number, or yes or no. The last may be NULL. */
int counted_request(struct client *client, struct resource *resource, const struct count_request *what,
                    int64_t *number_out);
int counted_flag(struct client *client, struct resource *resource, const struct count_request *what,
                 int32_t *answer_out);

/* What the reply to such a call means, blocking or not: the status, and on OK a number for the caller, 1 and 0 for yes
 * and no, 0 if there is none. */
int counted_outcome(const struct operation *operation, int64_t *number_out);

/* Starts it for an event of that kind. */
int counted_start(struct client *client, struct resource *resource, const struct count_request *what, int32_t event,
                  uint64_t tag);

/* A wait for permits or for a latch. */
struct count_wait {
    struct client *client;
    struct resource *resource;
    int64_t amount;
    int64_t limit;   /* of a semaphore that does not exist; 0: none is made */
    bool must_exist; /* a semaphore that does not exist is not waited for */
    int64_t wait_ms;
    uint8_t kind;                                  /* enum operation_kind: ACQUIRE, WATCH */
    int64_t lease_ms;                              /* of permits with ids */
    void (*give_back)(struct redlatch_wait *wait); /* of a grant that nobody wants any more; NULL where there is none */
};

/* Waits. `serial_out`, which may be NULL, is set on OK. */
int counted_wait(const struct count_wait *wait, struct redlatch_cancel *cancel, uint64_t *serial_out);

/* Makes a resumable wait. */
int counted_begin_wait(const struct count_wait *given, struct redlatch_cancel *cancel, redlatch_wait **wait_out);

/* Starts a wait for an event of that kind. */
int counted_start_wait(const struct count_wait *wait, int32_t event, uint64_t tag);

/* Sets the last error for such a call that failed, and returns the status. With the mutex. */
int counted_failed(const struct request *request, int status);

/* A number of permits or counts between two bounds: OK or INVALID. */
int check_amount(const char *what, int64_t amount, int64_t low);

#endif
