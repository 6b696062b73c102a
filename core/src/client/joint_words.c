/* The words for failed calls on multi locks and RedLocks: of which member, on which server.
 * SPDX-License-Identifier: Apache-2.0 */
#include "joint_words.h"

#include <stdio.h>

#include "errors.h"
#include "lock.h"

/* Who is to blame, and how many servers failed like that one. */
struct culprit {
    const struct joint_group *group;
    uint32_t member;
    uint32_t failed;
    const struct lock_answer *answer;
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

int joint_failed_as_set(const struct redlatch_lock *lock, const struct call *call, const char *verb, int64_t wait_ms) {
    const struct operation *operation = &call->operation;
    const struct name_set *set = operation->set;
    if (operation->status == REDLATCH_TIMEOUT || set->count == 1) {
        struct redlatch_lock culprit = *lock;
        culprit.resource = set->members[operation->met_member].resource;
        return lock_failed(&culprit, &call->answer, verb, operation->status, wait_ms);
    }
    char names[NAMES_SIZE];
    return call_failed_of(lock->client, &call->answer, verb, shown_names(set, names), operation->status);
}

/* Of a majority, on how many servers; else on which one, unless that has been said. */
static int tell(const struct redlatch_lock *lock, const struct culprit *culprit, const char *verb, int status,
                int64_t wait_ms) {
    const struct joint *joint = lock->joint;
    struct redlatch_lock blamed = *lock;
    blamed.client = culprit->group->client;
    blamed.resource = culprit->group->set->members[culprit->member].resource;
    client_lock(blamed.client);
    lock_failed(&blamed, culprit->answer, verb, status, wait_ms);
    client_unlock(blamed.client);
    char before[400];
    snprintf(before, sizeof before, "%s", redlatch_last_error());
    const struct uri *uri = &blamed.client->uri;
    if (joint->majority && culprit->failed > 0) {
        return fail_with(status, "%s, on %u of %u servers", before, culprit->failed, joint->group_count);
    }
    if (status_has_detail(status)) {
        return status;
    }
    return uri->path ? fail_with(status, "%s, on %.100s", before, uri->path)
                     : fail_with(status, "%s, on %.100s:%d", before, uri->host, uri->port);
}

int joint_acquire_failed(const struct redlatch_lock *lock, const struct run *run, int64_t wait_ms) {
    const struct multi *multi = &run->multi;
    struct culprit culprit = {.group = &lock->joint->groups[multi->watched_group], .member = multi->watched_member};
    for (uint32_t i = multi->count; i-- > 0;) {
        if (multi->groups[i].answered && multi->groups[i].status == multi->status) {
            culprit.group = &lock->joint->groups[i];
            culprit.member = multi->groups[i].member;
            culprit.answer = &run->tasks[i].call.answer;
            culprit.failed++;
        }
    }
    return tell(lock, &culprit, "acquire", multi->status, wait_ms);
}

int joint_tasks_failed(const struct redlatch_lock *lock, const struct task *tasks, uint32_t count, const char *verb,
                       int status) {
    const struct joint *joint = lock->joint;
    bool by_group = count == joint->group_count;
    struct culprit culprit = {.group = &joint->groups[0]};
    uint32_t next = count;
    for (uint32_t i = joint->group_count; i-- > 0;) {
        for (uint32_t j = by_group ? 1 : joint->groups[i].set->count; j-- > 0;) {
            if (tasks[--next].status == status) {
                culprit = (struct culprit){&joint->groups[i], j, culprit.failed + 1, &tasks[next].call.answer};
            }
        }
    }
    return tell(lock, &culprit, verb, status, 0);
}
