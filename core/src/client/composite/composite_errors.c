/* Error texts of failed calls on multi locks and RedLocks: they name the member and the server.
 * SPDX-License-Identifier: Apache-2.0 */
#include "composite_errors.h"

#include <stdio.h>

#include "client_lock.h"
#include "composite.h"
#include "composite_op.h"
#include "composite_status.h"
#include "errors.h"
#include "explain.h"
#include "failures.h"
#include "multi.h"
#include "subrequest.h"

/* The member that a failure is about, and how many servers failed with the same status. */
struct culprit {
    const struct composite_group *group;
    uint32_t member;
    uint32_t failed;
    const struct request *request;
    struct redlatch_cancel *cancel; /* of the caller; may be NULL */
    bool started;                   /* the text is for an event: the thread must not wait for an explanation */
    const struct finding *finding;  /* the result of an explanation; NULL if there is none */
};

/* Sets the error. Its text says on how many servers a RedLock failed; else on which server, unless it has that
 * already. */
static int set_error(const struct composite *composite, const struct culprit *culprit, const char *verb, int status,
                     int64_t wait_ms) {
    struct client *client = culprit->group->client;
    const struct set_member *member = &culprit->group->set->members[culprit->member];
    struct request request = culprit->request ? *culprit->request : (struct request){.wait_ms = 0};
    request.client = client; /* also of a request that could not start */
    struct operation failed = {.resource = member->resource, .lock_kind = member->lock_kind};
    struct finding finding;
    if (culprit->finding) {
        finding = *culprit->finding;
        request.finding = &finding;
    }
    client_lock(client);
    client->callers++;
    if (!culprit->started) { /* a caller waits, so the explanation may wait for the server */
        request.finding = explain(client, &failed, culprit->cancel, status, wait_ms, &finding);
    }
    resource_request_failed(member->resource, &request, verb, status, wait_ms);
    client_leave(client);
    char before[400];
    int reason = redlatch_last_reason();
    snprintf(before, sizeof before, "%s", redlatch_last_error());
    char where[ENDPOINT_TEXT_SIZE];
    connection_describe(&client->connection_settings, where, sizeof where);
    if (composite->majority && culprit->failed > 0) {
        fail_with(status, "%s, on %u of %u servers", before, culprit->failed, composite->group_count);
    } else if (!status_has_detail(status)) {
        fail_with(status, "%s, on %.110s", before, where);
    }
    return fail_for(status, reason);
}

/* Sets the error of an acquire that ended because the owner's hold is lost. The reason is that of a lost member, if one
 * is known. */
static int lost_before(const struct composite_op *op) {
    redlatch_hold hold = {.state = REDLATCH_NOT_HELD};
    composite_hold_status(op->composite, op->owner, &hold);
    const char *todo = "; release it first";
    if (hold.state != REDLATCH_GONE) { /* granted by servers that took longer than the lease */
        hold.reason = REDLATCH_REASON_EXPIRED;
        todo = "";
    }
    char shown[64];
    const struct resource *name = op->composite->first_name;
    fail_with(REDLATCH_LOST, "acquire \"%s\" and the others: %s: %s%s", shown_name(name->name, name->name_size, shown),
              redlatch_strerror(REDLATCH_LOST), reason_text(hold.reason), todo);
    return fail_for(REDLATCH_LOST, hold.reason);
}

static struct culprit acquire_culprit(const struct composite_op *op) {
    const struct multi *multi = &op->multi;
    struct culprit culprit = {.group = &op->composite->groups[multi->watched_group],
                              .member = multi->watched_member,
                              .cancel = op->cancel,
                              .finding = op->finding};
    for (uint32_t i = multi->count; i-- > 0;) {
        if (multi->groups[i].answered && multi->groups[i].status == multi->status) {
            culprit.group = &op->composite->groups[i];
            culprit.member = multi->groups[i].member;
            culprit.request = &op->group_requests[i].request;
            culprit.failed++;
        }
    }
    return culprit;
}

const struct set_member *composite_acquire_culprit(const struct composite_op *op, struct client **client_out) {
    struct culprit culprit = acquire_culprit(op);
    *client_out = culprit.group->client;
    return &culprit.group->set->members[culprit.member];
}

int composite_acquire_failed(const struct composite_op *op, bool started) {
    struct culprit culprit = acquire_culprit(op);
    culprit.started = started;
    if (op->multi.status == REDLATCH_LOST && !culprit.request) {
        return lost_before(op);
    }
    return set_error(op->composite, &culprit, "acquire", op->multi.status, op->wait_ms);
}

int composite_subrequests_failed(const struct composite *composite, const struct subrequest *subrequests,
                                 uint32_t count, const char *verb, int status, bool started) {
    bool by_group = count == composite->group_count;
    struct culprit culprit = {.group = &composite->groups[0], .started = started};
    uint32_t next = count;
    for (uint32_t i = composite->group_count; i-- > 0;) {
        for (uint32_t j = by_group ? 1 : composite->groups[i].set->count; j-- > 0;) {
            if (subrequests[--next].status == status) {
                culprit.group = &composite->groups[i];
                culprit.member = j;
                culprit.request = &subrequests[next].request;
                culprit.failed++;
            }
        }
    }
    return set_error(composite, &culprit, verb, status, 0);
}
