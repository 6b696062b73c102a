/* What a failed call finds out for its message: what a name holds that is no lock of its kind, and who held what was
 * waited for in vain.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Asked only after the failure: a script and perhaps CLIENT LIST. Nobody waits for both replies longer than 100 ms, and
 * after a time-out no longer than a tenth of the wait that is over; who only tried asks nothing. */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "failures.h"
#include "inquiry.h"

/* What is asked, in steps. */
struct explanation {
    const struct operation *failed;
    int status;              /* of the call that it stands for */
    uint32_t member;         /* of a set: which is asked about */
    redlatch_report *report; /* while its owners are looked for */
    struct finding finding;
};

/* With the mutex, which is dropped meanwhile. What the call finds out, in `finding_out`; NULL if there is nothing to
 * ask or to say. The failed operation may be one of many of a call, whose `status` and `wait_ms` count. The call's
 * cancel object, which may be NULL, ends the wait. */
struct finding *explain(struct client *client, const struct operation *failed, struct redlatch_cancel *cancel,
                        int status, int64_t wait_ms, struct finding *finding_out);

/* The same in steps, for who makes the requests. With the mutex: sets the first question, and until when its reply may
 * be waited for; returns how long that is, 0 if there is nothing to ask. */
int64_t explain_begin(struct client *client, struct explanation *explanation, struct inquiry *inquiry,
                      const struct operation *failed, int status, int64_t wait_ms);

/* Takes the reply in, or the status of what has none. false if another question, which it has set, is to be asked.
 * Without the mutex. */
bool explain_next(struct client *client, struct explanation *explanation, struct inquiry *inquiry, int status);

/* Whether what was found says more than the status alone. */
bool explain_is_worth_saying(const struct explanation *explanation);

/* The same for a started call that is done. true: its event has to wait for the replies. */
bool explain_started(struct request *request);

/* Takes the explained call out of one that asked for it and is done; NULL if it is none. */
struct request *explained_request(struct request *request);

#endif
