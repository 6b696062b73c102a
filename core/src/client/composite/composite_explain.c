/* The explanation of a started acquire over several clients that has failed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "composite_explain.h"

#include <stdlib.h>

#include "client_lock.h"
#include "composite.h"
#include "composite_errors.h"
#include "explain.h"
#include "subrequest.h"

struct composite_explanation {
    struct client *client;
    struct operation failed;
    struct explanation explanation;
    struct inquiry inquiry;
};

/* Returns the subrequest for the questions. It is that of the watch, which is not active any more. */
static struct subrequest *request_of(const struct composite_op *op) {
    return &op->group_requests[op->composite->group_count];
}

/* Asks the next question. Returns false if it could not start, or if no time is left for its reply. */
static bool ask(struct composite_op *op) {
    struct composite_explanation *requested = op->explanation;
    int64_t left_ms = (requested->inquiry.until - system_now()) / MILLISECOND;
    struct subrequest_spec spec = {.kind = OPERATION_INSPECT,
                                   .question = inquiry_question(&requested->inquiry),
                                   .max_hold_ms = REDLATCH_FOREVER,
                                   .wait_ms = left_ms,
                                   .op = op};
    if (left_ms <= 0) {
        return false;
    }
    subrequest_start(request_of(op), requested->client, &spec);
    return request_of(op)->active;
}

bool composite_explain_start(struct composite_op *op) {
    int status = op->multi.status;
    struct composite_explanation *requested = status != REDLATCH_OK && !request_of(op)->active
                                                  ? calloc(1, sizeof *requested)
                                                  : NULL;
    if (!requested) {
        return false;
    }
    const struct set_member *member = composite_acquire_culprit(op, &requested->client);
    requested->failed.resource = member->resource;
    requested->failed.lock_kind = member->lock_kind;
    client_lock(requested->client);
    int64_t left = explain_begin(requested->client, &requested->explanation, &requested->inquiry, &requested->failed,
                                 status, op->wait_ms);
    client_unlock(requested->client);
    op->explanation = requested;
    if (left == 0 || !ask(op)) {
        composite_explain_end(op);
        return false;
    }
    return true;
}

bool composite_explain_step(struct composite_op *op) {
    struct composite_explanation *requested = op->explanation;
    struct subrequest *subrequest = request_of(op);
    if (!subrequest_collect(subrequest)) {
        return false;
    }
    bool over = explain_next(requested->client, &requested->explanation, &requested->inquiry, subrequest->status);
    free(requested->inquiry.text);
    requested->inquiry.text = NULL;
    if (!over && ask(op)) {
        return false;
    }
    op->finding = explain_is_worth_saying(&requested->explanation) ? &requested->explanation.finding : NULL;
    return true;
}

void composite_explain_end(struct composite_op *op) {
    struct composite_explanation *requested = op->explanation;
    if (requested) {
        redlatch_report_free(requested->explanation.report);
        free(requested->inquiry.text);
        free(requested);
    }
    op->explanation = NULL;
    op->finding = NULL;
}
