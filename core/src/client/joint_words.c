/* The words for failed calls on multi locks and RedLocks: of which member, on which server.
 * SPDX-License-Identifier: Apache-2.0 */
#include "joint_words.h"

#include <stdio.h>

#include "explain.h"
#include "failures.h"
#include "lock.h"

/* Who is to blame, and how many servers failed like that one. */
struct culprit {
    const struct joint_group *group;
    uint32_t member;
    uint32_t failed;
    const struct call *call;
    struct redlatch_cancel *cancel; /* of the caller; NULL */
    bool started; /* the words are for an event: no thread may wait for what the server says of it */
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
        return operation->met_member;
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

int joint_failed_as_set(const struct redlatch_lock *lock, const struct call *call, int64_t wait_ms) {
    const struct operation *operation = &call->operation;
    const struct name_set *set = operation->set;
    const char *verb = verb_of(operation);
    uint32_t member = blamed_member(operation);
    for (uint32_t i = 0; call->finding && i < set->count; i++) {
        member = set->members[i].resource == call->finding->resource ? i : member;
    }
    if (member < set->count) {
        struct redlatch_lock blamed = *lock;
        blamed.resource = set->members[member].resource;
        return lock_failed(&blamed, call, verb, operation->status, wait_ms);
    }
    char names[NAMES_SIZE];
    return call_failed_of(lock->client, call, verb, shown_names(set, names), operation->status);
}

/* Of a majority, on how many servers; else on which one, unless that has been said. */
static int tell(const struct redlatch_lock *lock, const struct culprit *culprit, const char *verb, int status,
                int64_t wait_ms) {
    const struct joint *joint = lock->joint;
    struct redlatch_lock blamed = *lock;
    blamed.client = culprit->group->client;
    blamed.resource = culprit->group->set->members[culprit->member].resource;
    struct call call = culprit->call ? *culprit->call : (struct call){.client = blamed.client};
    struct operation failed = {.resource = blamed.resource,
                               .lock_kind = culprit->group->set->members[culprit->member].lock_kind};
    struct finding finding;
    client_lock(blamed.client);
    blamed.client->calls++;
    if (!culprit->started) { /* a caller waits, who may as well ask */
        call.finding = explain(blamed.client, &failed, culprit->cancel, status, wait_ms, &finding);
    }
    lock_failed(&blamed, &call, verb, status, wait_ms);
    leave_call(blamed.client);
    char before[400];
    int reason = redlatch_last_reason();
    snprintf(before, sizeof before, "%s", redlatch_last_error());
    const struct uri *uri = &blamed.client->uri;
    if (joint->majority && culprit->failed > 0) {
        fail_with(status, "%s, on %u of %u servers", before, culprit->failed, joint->group_count);
    } else if (!status_has_detail(status) && uri->path) {
        fail_with(status, "%s, on %.100s", before, uri->path);
    } else if (!status_has_detail(status)) {
        fail_with(status, "%s, on %.100s:%d", before, uri->host, uri->port);
    }
    return fail_for(status, reason);
}

/* An acquire that was ended since a hold of the whole is lost: of which member, if one is known to be. */
static int lost_before(const struct redlatch_lock *lock, const struct run *run) {
    redlatch_hold hold = {.state = REDLATCH_NOT_HELD};
    joint_look(lock->joint, run->owner, &hold);
    const char *todo = "; release it first";
    if (hold.state != REDLATCH_GONE) { /* granted by servers that took longer than the lease */
        hold.reason = REDLATCH_REASON_EXPIRED;
        todo = "";
    }
    char shown[64];
    const struct resource *name = lock->joint->first_name;
    fail_with(REDLATCH_LOST, "acquire \"%s\" and the others: %s: %s%s", shown_name(name->name, name->name_size, shown),
              redlatch_strerror(REDLATCH_LOST), reason_words(hold.reason), todo);
    return fail_for(REDLATCH_LOST, hold.reason);
}

int joint_acquire_failed(const struct redlatch_lock *lock, const struct run *run, bool started) {
    const struct multi *multi = &run->multi;
    struct culprit culprit = {.group = &lock->joint->groups[multi->watched_group],
                              .member = multi->watched_member,
                              .cancel = run->cancel,
                              .started = started};
    for (uint32_t i = multi->count; i-- > 0;) {
        if (multi->groups[i].answered && multi->groups[i].status == multi->status) {
            culprit.group = &lock->joint->groups[i];
            culprit.member = multi->groups[i].member;
            culprit.call = &run->tasks[i].call;
            culprit.failed++;
        }
    }
    if (multi->status == REDLATCH_LOST && !culprit.call) {
        return lost_before(lock, run);
    }
    return tell(lock, &culprit, "acquire", multi->status, run->wait_ms);
}

int joint_tasks_failed(const struct redlatch_lock *lock, const struct task *tasks, uint32_t count, const char *verb,
                       int status, bool started) {
    const struct joint *joint = lock->joint;
    bool by_group = count == joint->group_count;
    struct culprit culprit = {.group = &joint->groups[0], .started = started};
    uint32_t next = count;
    for (uint32_t i = joint->group_count; i-- > 0;) {
        for (uint32_t j = by_group ? 1 : joint->groups[i].set->count; j-- > 0;) {
            if (tasks[--next].status == status) {
                culprit.group = &joint->groups[i];
                culprit.member = j;
                culprit.call = &tasks[next].call;
                culprit.failed++;
            }
        }
    }
    return tell(lock, &culprit, verb, status, 0);
}
