/* The explanation of a failed call, for its error text: what a key of the wrong type has, or who held the lock that was
 * waited for in vain.
 * SPDX-License-Identifier: Apache-2.0
 *
 * After the failure the script `inspect` is sent, and perhaps CLIENT LIST. After a timeout both replies are waited for
 * at most a tenth of the wait, and at most 100 ms; after a wait of less than 50 ms nothing is sent. After WRONG_TYPE
 * the replies are waited for at most a second. */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "failures.h"
#include "inquiry.h"

/* An explanation in progress. */
struct explanation {
    const struct operation *failed;
    int status;              /* of the failed call */
    uint32_t member;         /* of a set: the index of the member that is inspected */
    redlatch_report *report; /* kept while its owner is located */
    struct finding finding;
};

/* Explains a failed operation. Returns `finding_out`, or NULL if there is nothing to query or to say. The operation may
 * be one of several of a call; `status` and `wait_ms` are those of the call. So is `cancel`, which may be NULL: when
 * fired, it ends the explanation. With the mutex, which is dropped meanwhile. */
struct finding *explain(struct client *client, const struct operation *failed, struct redlatch_cancel *cancel,
                        int status, int64_t wait_ms, struct finding *finding_out);

/* The same in steps, for a caller that sends the questions itself. Sets the first question, and the deadline for all
 * replies. Returns the time to that deadline, or 0 if there is nothing to query. With the mutex. */
int64_t explain_begin(struct client *client, struct explanation *explanation, struct inquiry *inquiry,
                      const struct operation *failed, int status, int64_t wait_ms);

/* Takes in the reply, or the status of a question without a reply. Returns false if it has set a further question.
 * Without the mutex. */
bool explain_next(struct client *client, struct explanation *explanation, struct inquiry *inquiry, int status);

/* Returns whether the finding says more than the status alone. */
bool explain_is_worth_saying(const struct explanation *explanation);

/* Starts the explanation of a started call that is done. Returns true if the event of the call has to wait for the
 * replies. */
bool explain_started(struct request *request);

/* `request` is done. If it is an explanation, returns the call that it explains, which now has the finding. Else
 * returns NULL. */
struct request *explained_request(struct request *request);

#endif
