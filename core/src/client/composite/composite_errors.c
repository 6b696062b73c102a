/* The words for failed calls on multi locks and RedLocks: of which member, on which server.
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

/* Who is to blame, and how many servers failed like that one. */
struct culprit {
    const struct composite_group *group;
    uint32_t member;
    uint32_t failed;
    const struct request *request;
    struct redlatch_cancel *cancel; /* of the caller; NULL */
    bool started;                   /* the words are for an event: no thread may wait for what the server says of it */
};

enum { NAMES_SHOWN = 3, NAMES_SIZE = NAMES_SHOWN * 72 };

/* The names of a set: `"a", "b", "c" and 2 more`. */
static const char *shown_names(const struct name_set *set, char text[NAMES_SIZE]) {
    int size = 0;
    for (uint32_t i = 0; i < set->count && i < NAMES_SHOWN; i++) {
        const struct resource *name = set->members[i].resource;
        char shown[64];
        shown_name(name->name, name->name_size, shown);
        size += snprintf(text + size, NAMES_SIZE - (size_t)size, "%s\"%s\"", i > 0 ? ", " : "", shown);
    }
    if (set->count > NAMES_SHOWN) {
        snprintf(text + size, NAMES_SIZE - (size_t)size, " and %u more", set->count - NAMES_SHOWN);
    }
    return text;
}

/* Which member a failure is about; the count of them if it is about all. */
static uint32_t blamed_member(const struct operation *operation) {
    const struct name_set *set = operation->set;
    if (operation->status == REDLATCH_TIMEOUT || set->count == 1) {
        return operation->contended_member;
    }
    for (uint32_t i = 0; operation->status == REDLATCH_LOST && i < set->count; i++) {
        const struct set_member *member = &set->members[i];
        const struct hold *hold = resource_hold_of(member->resource, member->lock_kind, operation->owner);
        if (hold && hold->stage == HOLD_GONE) {
            return i;
        }
    }
    return set->count;
}

int composite_failed_as_set(const struct redlatch_lock *lock, const struct request *request, int64_t wait_ms) {
    const struct operation *operation = &request->operation;
    const struct name_set *set = operation->set;
    const char *verb = verb_of(operation);
    uint32_t member = blamed_member(operation);
    for (uint32_t i = 0; request->finding && i < set->count; i++) {
        member = set->members[i].resource == request->finding->resource ? i : member;
    }
    if (member < set->count) {
        struct redlatch_lock blamed = *lock;
        blamed.resource = set->members[member].resource;
        return lock_request_failed(&blamed, request, verb, operation->status, wait_ms);
    }
    char names[NAMES_SIZE];
    return request_failed_of(lock->client, request, verb, shown_names(set, names), operation->status);
}

/* Of a majority, on how many servers; else on which one, unless that has been said. */
static int set_error(const struct redlatch_lock *lock, const struct culprit *culprit, const char *verb, int status,
                     int64_t wait_ms) {
    const struct composite *composite = lock->composite;
    struct redlatch_lock blamed = *lock;
    blamed.client = culprit->group->client;
    blamed.resource = culprit->group->set->members[culprit->member].resource;
    struct request request = culprit->request ? *culprit->request : (struct request){.client = blamed.client};
    struct operation failed = {.resource = blamed.resource,
                               .lock_kind = culprit->group->set->members[culprit->member].lock_kind};
    struct finding finding;
    client_lock(blamed.client);
    blamed.client->callers++;
    if (!culprit->started) { /* a caller waits, who may as well ask */
        request.finding = explain(blamed.client, &failed, culprit->cancel, status, wait_ms, &finding);
    }
    lock_request_failed(&blamed, &request, verb, status, wait_ms);
    client_leave(blamed.client);
    char before[400];
    int reason = redlatch_last_reason();
    snprintf(before, sizeof before, "%s", redlatch_last_error());
    const struct uri *uri = &blamed.client->uri;
    if (composite->majority && culprit->failed > 0) {
        fail_with(status, "%s, on %u of %u servers", before, culprit->failed, composite->group_count);
    } else if (!status_has_detail(status) && uri->path) {
        fail_with(status, "%s, on %.100s", before, uri->path);
    } else if (!status_has_detail(status)) {
        fail_with(status, "%s, on %.100s:%d", before, uri->host, uri->port);
    }
    return fail_for(status, reason);
}

/* An acquire that was ended since a hold of the whole is lost: of which member, if one is known to be. */
static int lost_before(const struct redlatch_lock *lock, const struct composite_op *op) {
    redlatch_hold hold = {.state = REDLATCH_NOT_HELD};
    composite_hold_status(lock->composite, op->owner, &hold);
    const char *todo = "; release it first";
    if (hold.state != REDLATCH_GONE) { /* granted by servers that took longer than the lease */
        hold.reason = REDLATCH_REASON_EXPIRED;
        todo = "";
    }
    char shown[64];
    const struct resource *name = lock->composite->first_name;
    fail_with(REDLATCH_LOST, "acquire \"%s\" and the others: %s: %s%s", shown_name(name->name, name->name_size, shown),
              redlatch_strerror(REDLATCH_LOST), reason_text(hold.reason), todo);
    return fail_for(REDLATCH_LOST, hold.reason);
}

int composite_acquire_failed(const struct redlatch_lock *lock, const struct composite_op *op, bool started) {
    const struct multi *multi = &op->multi;
    struct culprit culprit = {.group = &lock->composite->groups[multi->watched_group],
                              .member = multi->watched_member,
                              .cancel = op->cancel,
                              .started = started};
    for (uint32_t i = multi->count; i-- > 0;) {
        if (multi->groups[i].answered && multi->groups[i].status == multi->status) {
            culprit.group = &lock->composite->groups[i];
            culprit.member = multi->groups[i].member;
            culprit.request = &op->group_requests[i].request;
            culprit.failed++;
        }
    }
    if (multi->status == REDLATCH_LOST && !culprit.request) {
        return lost_before(lock, op);
    }
    return set_error(lock, &culprit, "acquire", multi->status, op->wait_ms);
}

int composite_subrequests_failed(const struct redlatch_lock *lock, const struct subrequest *subrequests, uint32_t count,
                                 const char *verb, int status, bool started) {
    const struct composite *composite = lock->composite;
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
    return set_error(lock, &culprit, verb, status, 0);
}
