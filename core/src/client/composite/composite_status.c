/* The state of an owner's hold of a multi lock or a RedLock.
 * SPDX-License-Identifier: Apache-2.0 */
#include "composite_status.h"

#include <stdlib.h>
#include <string.h>

#include "client_lock.h"
#include "composite.h"
#include "lease.h"
#include "outputs.h"
#include "wire.h"

/* The state of an owner's holds of one group, as if it were one lock: that of the member in the worst state. */
struct group_status {
    int state;
    int reason;
    uint32_t count;
    int64_t deadline;
    uint64_t serial;
    uint64_t token;
    char owner[REDLATCH_OWNER_SIZE];
};

static void add_hold(struct group_status *status, const struct engine *engine, const struct hold *hold, int64_t now) {
    int state = hold ? hold_state_at(hold, now) : REDLATCH_NOT_HELD;
    bool gone = state == REDLATCH_GONE || status->state == REDLATCH_GONE;
    if (state == REDLATCH_GONE) {
        status->reason = status->reason ? status->reason : hold->reason;
    }
    if (gone) {
        status->state = REDLATCH_GONE;
    } else if (state == REDLATCH_NOT_HELD || status->state == REDLATCH_NOT_HELD) {
        status->state = REDLATCH_NOT_HELD;
    } else if (state == REDLATCH_SUSPECT) {
        status->state = REDLATCH_SUSPECT;
    }
    uint32_t count = hold ? hold->count : 0;
    status->count = count < status->count ? count : status->count;
    if (hold) {
        status->deadline = hold->deadline < status->deadline ? hold->deadline : status->deadline;
    }
    if (hold && status->serial == 0) {
        status->serial = hold->serial;
        owner_text(engine, hold->id, status->owner);
    }
}

/* Returns whether a RedLock's hold on a server is being given back, because the server did not grant all acquires in
 * time. It is no part of the RedLock's hold. */
static bool is_given_back(const struct composite *composite, const struct hold *hold) {
    return composite->majority && hold && hold->stage != HOLD_GONE && hold_count_left(hold) == 0;
}

static void read_group_status(const struct composite *composite, uint32_t index, uint64_t owner,
                              struct group_status *status) {
    const struct composite_group *group = &composite->groups[index];
    struct client *client = group->client;
    *status = (struct group_status){.state = REDLATCH_HELD, .count = UINT32_MAX, .deadline = NEVER};
    client_lock(client);
    int64_t now = system_now();
    for (uint32_t i = 0; i < group->set->count; i++) {
        const struct set_member *member = &group->set->members[i];
        const struct hold *hold = engine_hold_of(&client->engine, member->resource, member->lock_kind, owner, now);
        hold = is_given_back(composite, hold) ? NULL : hold;
        add_hold(status, &client->engine, hold, now);
        if (hold && i == group->fenced) {
            status->token = hold->token;
        }
    }
    client_finish_step(client, now);
    client_unlock(client);
}

static int by_count(const void *one, const void *other) {
    const struct group_status *left = one;
    const struct group_status *right = other;
    return (left->count < right->count) - (left->count > right->count);
}

static int by_deadline(const void *one, const void *other) {
    const struct group_status *left = one;
    const struct group_status *right = other;
    return (left->deadline < right->deadline) - (left->deadline > right->deadline);
}

/* Sums up the groups: what a quorum of them has is the state of the composite lock's hold. */
static void sum_up(const struct composite *composite, struct group_status *groups, redlatch_hold *answer, int64_t now) {
    uint32_t held = 0;
    uint32_t sure = 0;
    uint32_t gone = 0;
    uint32_t fenced_given = UINT32_MAX;
    int reason = REDLATCH_REASON_NONE;
    const struct group_status *named = NULL;
    for (uint32_t i = 0; i < composite->group_count; i++) {
        sure += groups[i].state == REDLATCH_HELD;
        held += groups[i].state == REDLATCH_HELD || groups[i].state == REDLATCH_SUSPECT;
        gone += groups[i].state == REDLATCH_GONE;
        reason = reason ? reason : groups[i].reason;
        if (groups[i].token && composite->groups[i].fenced_given < fenced_given) {
            answer->token = groups[i].token;
            fenced_given = composite->groups[i].fenced_given;
        }
        if (groups[i].serial && (!named || composite->groups[i].first_given == 0)) {
            named = &groups[i];
        }
    }
    bool alive = held >= composite->quorum;
    if (!named || (!alive && gone == 0)) {
        *answer = (redlatch_hold){.state = REDLATCH_NOT_HELD};
        return;
    }
    answer->state = alive ? (sure >= composite->quorum ? REDLATCH_HELD : REDLATCH_SUSPECT) : REDLATCH_GONE;
    answer->reason = alive ? REDLATCH_REASON_NONE : reason;
    answer->serial = named->serial;
    memcpy(answer->owner, named->owner, sizeof answer->owner);
    qsort(groups, composite->group_count, sizeof groups[0], by_count);
    answer->count = groups[composite->quorum - 1].count;
    for (uint32_t i = 0; i < composite->group_count; i++) {
        bool counts = groups[i].state == REDLATCH_HELD || groups[i].state == REDLATCH_SUSPECT;
        groups[i].deadline = counts ? groups[i].deadline : 0;
    }
    qsort(groups, composite->group_count, sizeof groups[0], by_deadline);
    int64_t left = groups[composite->quorum - 1].deadline - now;
    answer->remaining_ms = alive && left > 0 ? left / MILLISECOND : 0;
}

void composite_hold_status(struct composite *composite, uint64_t owner, redlatch_hold *answer_out) {
    struct group_status groups[REDLATCH_MEMBERS_MAX];
    for (uint32_t i = 0; i < composite->group_count; i++) {
        read_group_status(composite, i, owner, &groups[i]);
    }
    sum_up(composite, groups, answer_out, system_now());
}

uint32_t composite_group_count(const struct composite_group *group, uint64_t owner, bool *held_out) {
    uint32_t hold_count = UINT32_MAX;
    *held_out = true;
    client_lock(group->client);
    int64_t now = system_now();
    for (uint32_t i = 0; i < group->set->count; i++) {
        const struct set_member *member = &group->set->members[i];
        const struct hold *hold = resource_hold_of(member->resource, member->lock_kind, owner);
        uint32_t left = hold ? hold_count_left(hold) : 0;
        hold_count = left < hold_count ? left : hold_count;
        *held_out = *held_out && left > 0 && hold_state_at(hold, now) != REDLATCH_GONE;
    }
    client_unlock(group->client);
    return hold_count;
}

uint32_t composite_count(const struct composite *composite, uint64_t owner) {
    struct group_status groups[REDLATCH_MEMBERS_MAX];
    bool held;
    for (uint32_t i = 0; i < composite->group_count; i++) {
        groups[i].count = composite_group_count(&composite->groups[i], owner, &held);
    }
    qsort(groups, composite->group_count, sizeof groups[0], by_count);
    return groups[composite->quorum - 1].count;
}
