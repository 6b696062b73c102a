/* The holds of multi locks and RedLocks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "composite_holds.h"

#include <stdlib.h>
#include <string.h>

#include "client_lock.h"
#include "composite.h"
#include "planted.h"

/* One owner's hold of a composite lock, from the first grant to the last release. */
struct composite_hold {
    struct composite_hold *next; /* of the same composite lock */
    uint64_t owner;
    uint64_t serial;
    uint32_t count;
    bool lost;
    uint64_t members[]; /* serials of the members' holds, group by group; 0: not held, or lost */
};

/* Protects the holds of all composite locks, the list of composite locks that have any, and the losses that clients are
 * to report. It is taken with or without a client's mutex. No other mutex is taken while it is held. */
static pthread_mutex_t holds_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct composite *held_composites;

void composite_before_fork(void) {
    pthread_mutex_lock(&holds_mutex);
}

void composite_after_fork(void) {
    pthread_mutex_unlock(&holds_mutex);
}

static struct composite_hold **link_of(struct composite *composite, uint64_t owner) {
    struct composite_hold **link = &composite->holds;
    while (*link && (*link)->owner != owner) {
        link = &(*link)->next;
    }
    return link;
}

static void enlist(struct composite *composite) {
    composite->next_held = held_composites;
    held_composites = composite;
}

static void delist(struct composite *composite) {
    struct composite **link = &held_composites;
    while (*link != composite) {
        link = &(*link)->next_held;
    }
    *link = composite->next_held;
}

static void remove_hold(struct composite *composite, struct composite_hold **link) {
    struct composite_hold *hold = *link;
    *link = hold->next;
    if (!composite->holds) {
        delist(composite);
    }
    free(hold);
}

/* Returns how many groups have all their members held, by the serials of the members' holds. */
static uint32_t groups_held(const struct composite *composite, const uint64_t *member) {
    uint32_t held = 0;
    for (uint32_t i = 0; i < composite->group_count; i++) {
        bool whole = true;
        for (uint32_t j = 0; j < composite->groups[i].set->count; j++) {
            whole = *member++ && whole;
        }
        held += whole;
    }
    return held;
}

/* Reads the serials of the holds that the owner has of a group's members. A hold that is being given back counts as 0:
 * a group of a RedLock that was not granted in time gives back what it got. */
static void read_members(const struct composite_group *group, uint64_t owner, uint64_t *members) {
    for (uint32_t i = 0; i < group->set->count; i++) {
        const struct set_member *member = &group->set->members[i];
        const struct hold *hold = resource_hold_of(member->resource, member->lock_kind, owner);
        members[i] = hold && hold->stage == HOLD_ALIVE && hold_count_left(hold) > 0 ? hold->serial : 0;
    }
}

/* Returns whether another handle released the noted hold, and the owner has acquired the members again: none of the
 * noted holds is left, or too few were left and now there are enough. */
static bool is_another(const struct composite *composite, const struct composite_hold *noted, const uint64_t *members) {
    if (noted->lost && groups_held(composite, members) >= composite->quorum) {
        return true;
    }
    for (uint32_t i = 0; i < composite->member_count; i++) {
        if (noted->members[i] && members[i] == noted->members[i]) {
            return false;
        }
    }
    return true;
}

/* -------------------------------------------------------------------------------------------------------- losses -- */

static void notify_loss(struct composite *composite, const struct composite_hold *hold, int32_t reason,
                        int64_t over_ms) {
    struct client *first = composite->first;
    const struct resource *name = composite->first_name;
    for (int queue = LOSS_EVENTS; queue <= LOSS_THREADS; queue++) {
        struct loss_event *loss = atomic_load(&first->losses_watched[queue]) ? calloc(1, sizeof *loss) : NULL;
        if (!loss) {
            continue; /* the host does not ask, or no memory: the hold's state and its release show the loss */
        }
        bool abandoned = reason == REDLATCH_REASON_ABANDONED;
        loss->event.kind = abandoned ? REDLATCH_EVENT_ABANDONED : REDLATCH_EVENT_LOST;
        loss->event.status = REDLATCH_LOST;
        loss->event.reason = reason;
        loss->event.number = over_ms;
        loss->event.owner = hold->owner;
        loss->event.serial = hold->serial;
        loss->event.name_size = name->name_size;
        size_t size = sizeof loss->event.name - 1;
        memcpy(loss->event.name, name->name, name->name_size < size ? name->name_size : size);
        struct loss_event **end = &first->composite_losses[queue];
        while (*end) {
            end = &(*end)->next;
        }
        *end = loss;
    }
    system_signal(&first->background_signal);
}

/* Marks the hold as lost if too few groups are left. over_ms: for how long the lease of the last lost member was
 * over. */
static void judge(struct composite *composite, struct composite_hold *hold, int32_t reason, int64_t over_ms) {
    uint32_t least = PLANTED(FAULT_MINORITY_LOSES_ALL) ? composite->group_count : composite->quorum;
    if (!hold->lost && groups_held(composite, hold->members) < least) {
        hold->lost = true;
        notify_loss(composite, hold, reason, over_ms);
    }
}

/* A member's hold was lost. Clears it in each of the composite lock's holds that has it. */
static void strike(struct composite *composite, const struct client *client, const struct hold *lost) {
    for (struct composite_hold *hold = composite->holds; hold; hold = hold->next) {
        uint64_t *member = hold->members;
        for (uint32_t i = 0; i < composite->group_count; i++) {
            const struct composite_group *group = &composite->groups[i];
            for (uint32_t j = 0; j < group->set->count; j++, member++) {
                if (hold->owner == lost->owner && group->client == client && *member == lost->serial) {
                    *member = 0;
                }
            }
        }
        judge(composite, hold, lost->reason, lost->over_ms);
    }
}

void composite_take_losses(struct client *client) {
    struct hold *lost;
    pthread_mutex_lock(&holds_mutex);
    while ((lost = engine_first_loss(&client->engine, LOSS_SETS)) != NULL) {
        for (struct composite *composite = held_composites; composite; composite = composite->next_held) {
            strike(composite, client, lost);
        }
        engine_loss_taken(&client->engine, LOSS_SETS);
    }
    pthread_mutex_unlock(&holds_mutex);
}

bool composite_has_loss(struct client *client, enum loss_queue queue) {
    pthread_mutex_lock(&holds_mutex);
    bool has = client->composite_losses[queue] != NULL;
    pthread_mutex_unlock(&holds_mutex);
    return has;
}

bool composite_next_loss(struct client *client, enum loss_queue queue, redlatch_event *event) {
    pthread_mutex_lock(&holds_mutex);
    struct loss_event *loss = client->composite_losses[queue];
    if (loss) {
        client->composite_losses[queue] = loss->next;
        *event = loss->event;
    }
    pthread_mutex_unlock(&holds_mutex);
    free(loss);
    return loss != NULL;
}

/* ----------------------------------------------------------------------------------------------------- the holds -- */

/* Notes the serials of the members' holds. The first grant makes the composite lock's hold, with the number
 * `serial`. */
static void note(struct composite *composite, uint64_t owner, struct composite_hold *room, const uint64_t *members,
                 uint64_t serial) {
    struct composite_hold **link = link_of(composite, owner);
    if (*link && is_another(composite, *link, members)) {
        remove_hold(composite, link);
        link = link_of(composite, owner);
    }
    struct composite_hold *hold = *link;
    if (!hold && !room) {
        return; /* no memory: known by its members' holds alone */
    }
    if (hold) {
        free(room);
    } else {
        if (!composite->holds) {
            enlist(composite);
        }
        hold = room;
        hold->owner = owner;
        hold->serial = serial;
        hold->next = composite->holds;
        composite->holds = hold;
    }
    hold->count++;
    memcpy(hold->members, members, composite->member_count * sizeof *members);
    judge(composite, hold, REDLATCH_REASON_EXPIRED, 0); /* members may have been lost before */
}

/* Strikes the members' holds that were lost between the time at which they were read and that at which they were noted:
 * their losses were taken meanwhile, and found nothing to strike. */
static void strike_lost(struct composite *composite, uint64_t owner) {
    for (uint32_t i = 0; i < composite->group_count; i++) {
        const struct composite_group *group = &composite->groups[i];
        client_lock(group->client);
        pthread_mutex_lock(&holds_mutex);
        for (uint32_t j = 0; j < group->set->count; j++) {
            const struct set_member *member = &group->set->members[j];
            const struct hold *hold = resource_hold_of(member->resource, member->lock_kind, owner);
            if (hold && hold->stage == HOLD_GONE) {
                strike(composite, group->client, hold);
            }
        }
        pthread_mutex_unlock(&holds_mutex);
        client_unlock(group->client);
    }
}

void composite_note_granted(struct composite *composite, uint64_t owner) {
    if (!composite) {
        return;
    }
    struct composite_hold *room = calloc(1, sizeof *room + composite->member_count * sizeof room->members[0]);
    uint64_t members[REDLATCH_MEMBERS_MAX] = {0};
    uint64_t *member = members;
    uint64_t serial = 0;
    bool entered = composite->group_count == 1;
    for (uint32_t i = 0; i < composite->group_count; i++) {
        struct client *client = composite->groups[i].client;
        if (!entered) {
            client_lock(client);
        }
        read_members(&composite->groups[i], owner, member);
        if (client == composite->first) {
            serial = ++client->engine.last_id;
        }
        if (!entered) {
            client_unlock(client);
        }
        member += composite->groups[i].set->count;
    }
    pthread_mutex_lock(&holds_mutex);
    note(composite, owner, room, members, serial);
    pthread_mutex_unlock(&holds_mutex);
    if (!entered) {
        strike_lost(composite, owner);
    }
}

/* Returns whether a release with this status ended one of `count` acquires, at once or in the background. An error of
 * the server that is not transient leaves the hold count as it was, but for the last acquire. */
static bool ended_acquire(int status, uint32_t count) {
    if (status == REDLATCH_NO_MEMORY || status == REDLATCH_SYSTEM) { /* nothing was sent */
        return false;
    }
    bool refused = status <= REDLATCH_SERVER && status > REDLATCH_NO_MEMORY && !redlatch_status_is_retryable(status);
    return !refused || count == 1;
}

void composite_note_released(struct composite *composite, uint64_t owner, int status) {
    pthread_mutex_lock(&holds_mutex);
    struct composite_hold **link = link_of(composite, owner);
    if (*link && ended_acquire(status, (*link)->count)) {
        (*link)->count--;
        if ((*link)->count == 0 || status == REDLATCH_NOT_OWNED) {
            remove_hold(composite, link);
        }
    }
    pthread_mutex_unlock(&holds_mutex);
}

uint64_t composite_serial(struct composite *composite, uint64_t owner) {
    pthread_mutex_lock(&holds_mutex);
    const struct composite_hold *hold = *link_of(composite, owner);
    uint64_t serial = hold ? hold->serial : 0;
    pthread_mutex_unlock(&holds_mutex);
    return serial;
}

bool composite_is_lost(struct composite *composite, uint64_t owner) {
    pthread_mutex_lock(&holds_mutex);
    const struct composite_hold *hold = *link_of(composite, owner);
    bool lost = hold && hold->lost;
    pthread_mutex_unlock(&holds_mutex);
    return lost;
}

void composite_forget_holds(struct composite *composite) {
    pthread_mutex_lock(&holds_mutex);
    while (composite->holds) {
        remove_hold(composite, &composite->holds);
    }
    pthread_mutex_unlock(&holds_mutex);
}

void composite_owner_end(uint64_t owner) {
    pthread_mutex_lock(&holds_mutex);
    for (struct composite *composite = held_composites, *next; composite; composite = next) {
        next = composite->next_held;
        struct composite_hold **link = link_of(composite, owner);
        if (*link) {
            remove_hold(composite, link);
        }
    }
    pthread_mutex_unlock(&holds_mutex);
}

static bool has_client(const struct composite *composite, const struct client *client) {
    bool has = false;
    for (uint32_t i = 0; i < composite->group_count; i++) {
        has = has || composite->groups[i].client == client;
    }
    return has;
}

void composite_forget_client(const struct client *client) {
    pthread_mutex_lock(&holds_mutex);
    for (struct composite *composite = held_composites, *next; composite; composite = next) {
        next = composite->next_held;
        while (composite->holds && has_client(composite, client)) {
            remove_hold(composite, &composite->holds);
        }
    }
    pthread_mutex_unlock(&holds_mutex);
}
