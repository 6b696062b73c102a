/* What `run` holds while its command runs: a lock, several at once, or permits of a semaphore.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HOLDING_H
#define HOLDING_H

#include "run.h"

struct holding {
    const struct run_options *options;
    redlatch_client *client;
    redlatch_lock **members; /* of each name, in their order */
    redlatch_lock *lock;     /* the only one of them, or the multi lock that they make */
    redlatch_semaphore *semaphore;
    redlatch_permit_semaphore *permits;
    uint64_t serial; /* of the first permit; those of the others follow */
    char *shown;     /* the names for messages, in quotes */
    int64_t since;   /* when it was acquired, by clock_ms */
};

/* Makes the handles; nothing is sent. A status of the library; on failure, too, holding_close is to be called. */
int holding_open(struct holding *holding, const struct run_options *options, redlatch_client *client);
void holding_close(struct holding *holding);

/* Waits as the options say, but not for a semaphore that nobody makes. false: it is not held, and *status_out, which
 * may be any, is how to exit; why is said where there is something to be said. */
bool holding_acquire_or_complain(struct holding *holding, redlatch_client *client, redlatch_cancel *cancel,
                                 int *status_out);

/* Whether it is lost, and why (enum redlatch_reason), or was held for so long as it may be. Asks nobody. */
bool holding_is_over(const struct holding *holding, int *reason_out);

/* Such a reason as a part of a sentence. */
const char *holding_lost_text(int reason);

/* When holding_is_over will say so though nothing happens, by clock_ms; INT64_MAX: never. */
int64_t holding_end(const struct holding *holding);

/* Gives it back, also what is left of it when it is lost. A status of the library. */
int holding_release(struct holding *holding);

/* Lets it run out after this time. A status of the library. */
int holding_leave(struct holding *holding, int64_t left_ms);

/* Who holds it: ids as they stand in Redis, in the order of the names or permits, with `between` between them; and the
 * tokens of fenced locks. Each NULL if there are none. The memory is the caller's; false without. */
bool holding_owners(const struct holding *holding, const char *between, char **owners_out, char **tokens_out);

/* Texts with something between them, in new memory; NULL without. */
char *join_texts(char *const *texts, size_t count, const char *between);

#endif
