/* What `run` holds while its command runs: a lock, several at once, or permits of a semaphore.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HOLDING_H
#define HOLDING_H

#include "run.h"

struct holding {
    const struct run_options *options;
    redlatch_client *client;
    redlatch_lock **members; /* one for each name, in order */
    redlatch_lock *lock;     /* the only member, or the multi lock of all members */
    redlatch_semaphore *semaphore;
    redlatch_permit_semaphore *permits;
    uint64_t serial; /* of the first permit; those of the others are the next numbers */
    char *shown;     /* the names for messages, with quotes between them */
    int64_t since;   /* when it was acquired, by clock_ms */
};

/* Makes the handles. Sends nothing. Returns a status of the library. holding_close must be called after a failure,
 * too. */
int holding_open(struct holding *holding, const struct run_options *options, redlatch_client *client);
void holding_close(struct holding *holding);

/* Acquires the lock or permits, and waits as the options say, but not for a semaphore that does not exist. If it was
 * not acquired, returns false: the command is to exit with *status_out, which may be STATUS_GOOD. It has complained
 * then, unless the options forbid it or a signal ended the wait. */
bool holding_acquire_or_complain(struct holding *holding, redlatch_client *client, redlatch_cancel *cancel,
                                 int *status_out);

/* Returns whether the hold was lost or has reached --max-hold, and the reason (enum redlatch_reason). Sends nothing. */
bool holding_is_over(const struct holding *holding, int *reason_out);

/* Returns a reason (enum redlatch_reason) as a part of a sentence. */
const char *holding_lost_text(int reason);

/* Returns the time, by clock_ms, at which permits reach --max-hold. Returns INT64_MAX if they never do, and for locks:
 * their handles watch --max-hold and an event reports it. */
int64_t holding_end(const struct holding *holding);

/* Releases the hold; after a loss, what is left of it. Returns a status of the library. */
int holding_release(struct holding *holding);

/* Sets the lease to end after this time, and stops the renewal of locks. Returns a status of the library: OK also if
 * the reply comes after that time. */
int holding_leave(struct holding *holding, int64_t left_ms);

/* Stores the owner ids as they are in Redis, in the order of the names or permits, and the tokens of fenced locks. In
 * each list `between` separates the entries; an empty list is NULL. The caller frees the lists. Returns false on
 * failure. */
bool holding_owners(const struct holding *holding, const char *between, char **owners_out, char **tokens_out);

/* Joins texts, with `between` between them. In new memory, or NULL if there is none. */
char *join_texts(char *const *texts, size_t count, const char *between);

#endif
