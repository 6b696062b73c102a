/* Who holds a multi lock or a RedLock.
 * SPDX-License-Identifier: Apache-2.0 */
#include "joint_holds.h"

#include <stdlib.h>
#include <string.h>

#include "planted.h"

/* One owner's hold of all, from its first level to its last. */
struct joint_hold {
    struct joint_hold *next; /* of the same joint */
    uint64_t owner;
    uint64_t serial;
    uint32_t levels;
    bool lost;
    uint64_t members[]; /* serials of the members' holds, group by group; 0: not held, or lost */
};

/* A loss to be told. */
struct told_loss {
    struct told_loss *next;
    redlatch_event event;
};

/* Below it: every joint's holds, the list of joints that have any, and every client's losses to be told. Taken with or
 * without a client's mutex; nothing else is taken inside. */
static pthread_mutex_t holds_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct joint *held_joints;

void joint_before_fork(void) {
    pthread_mutex_lock(&holds_mutex);
}

void joint_after_fork(void) {
    pthread_mutex_unlock(&holds_mutex);
}

struct joint_hold *joint_hold_new(const struct joint *joint) {
    return calloc(1, sizeof(struct joint_hold) + joint->member_count * sizeof(uint64_t));
}

static struct joint_hold **place_of(struct joint *joint, uint64_t owner) {
    struct joint_hold **place = &joint->holds;
    while (*place && (*place)->owner != owner) {
        place = &(*place)->next;
    }
    return place;
}

static void enlist(struct joint *joint) {
    joint->next_held = held_joints;
    held_joints = joint;
}

static void delist(struct joint *joint) {
    struct joint **place = &held_joints;
    while (*place != joint) {
        place = &(*place)->next_held;
    }
    *place = joint->next_held;
}

static void remove_hold(struct joint *joint, struct joint_hold **place) {
    struct joint_hold *hold = *place;
    *place = hold->next;
    if (!joint->holds) {
        delist(joint);
    }
    free(hold);
}

/* How many groups are held whole. */
static uint32_t groups_held(const struct joint *joint, const struct joint_hold *hold) {
    uint32_t held = 0;
    const uint64_t *member = hold->members;
    for (uint32_t i = 0; i < joint->group_count; i++) {
        bool whole = true;
        for (uint32_t j = 0; j < joint->groups[i].set->count; j++) {
            whole = *member++ && whole;
        }
        held += whole;
    }
    return held;
}

/* The serials of the holds that the owner has of a group's members; 0 for one that is being given back, as a group that
 * did not get all levels in time gives back what it got. */
static void read_members(const struct joint_group *group, uint64_t owner, uint64_t *members) {
    for (uint32_t i = 0; i < group->set->count; i++) {
        const struct set_member *member = &group->set->members[i];
        const struct hold *hold = resource_hold_of(member->resource, member->lock_kind, owner);
        members[i] = hold && hold->stage == HOLD_ALIVE && hold_levels_left(hold) > 0 ? hold->serial : 0;
    }
}

/* Whether the holds are others than those that were noted: given back by another handle, and acquired again. */
static bool is_another(const struct joint *joint, const struct joint_hold *noted, const uint64_t *members) {
    for (uint32_t i = 0; i < joint->member_count; i++) {
        if (noted->members[i] && members[i] == noted->members[i]) {
            return false;
        }
    }
    return true;
}

/* -------------------------------------------------------------------------------------------------------- losses -- */

static void tell(struct joint *joint, const struct joint_hold *hold, int32_t reason) {
    struct client *first = joint->first;
    const struct resource *name = joint->first_name;
    for (int queue = LOSS_EVENTS; queue <= LOSS_THREADS; queue++) {
        struct told_loss *loss = atomic_load(&first->losses_told[queue]) ? calloc(1, sizeof *loss) : NULL;
        if (!loss) {
            continue; /* nobody asks, or there is no memory: the hold says so itself, and its release */
        }
        bool abandoned = reason == REDLATCH_REASON_ABANDONED;
        loss->event.kind = abandoned ? REDLATCH_EVENT_ABANDONED : REDLATCH_EVENT_LOST;
        loss->event.status = REDLATCH_LOST;
        loss->event.reason = reason;
        loss->event.owner = hold->owner;
        loss->event.serial = hold->serial;
        loss->event.name_size = name->name_size;
        size_t size = sizeof loss->event.name - 1;
        memcpy(loss->event.name, name->name, name->name_size < size ? name->name_size : size);
        struct told_loss **end = &first->joint_losses[queue];
        while (*end) {
            end = &(*end)->next;
        }
        *end = loss;
    }
    system_signal(first->keeper_signal);
}

static void judge(struct joint *joint, struct joint_hold *hold, int32_t reason) {
    uint32_t least = PLANTED(FAULT_MINORITY_LOSES_ALL) ? joint->group_count : joint->quorum;
    if (!hold->lost && groups_held(joint, hold) < least) {
        hold->lost = true;
        tell(joint, hold, reason);
    }
}

/* A member's hold is lost, which may be one of these. */
static void strike(struct joint *joint, const struct client *client, const struct hold *lost) {
    for (struct joint_hold *hold = joint->holds; hold; hold = hold->next) {
        uint64_t *member = hold->members;
        for (uint32_t i = 0; i < joint->group_count; i++) {
            const struct joint_group *group = &joint->groups[i];
            for (uint32_t j = 0; j < group->set->count; j++, member++) {
                if (hold->owner == lost->owner && group->client == client && *member == lost->serial) {
                    *member = 0;
                }
            }
        }
        judge(joint, hold, lost->reason);
    }
}

void joint_take_losses(struct client *client) {
    struct hold *lost;
    pthread_mutex_lock(&holds_mutex);
    while ((lost = engine_first_loss(&client->engine, LOSS_SETS)) != NULL) {
        for (struct joint *joint = held_joints; joint; joint = joint->next_held) {
            strike(joint, client, lost);
        }
        engine_loss_taken(&client->engine, LOSS_SETS);
    }
    pthread_mutex_unlock(&holds_mutex);
}

bool joint_has_loss(struct client *client, enum loss_queue queue) {
    pthread_mutex_lock(&holds_mutex);
    bool has = client->joint_losses[queue] != NULL;
    pthread_mutex_unlock(&holds_mutex);
    return has;
}

bool joint_next_loss(struct client *client, enum loss_queue queue, redlatch_event *event) {
    pthread_mutex_lock(&holds_mutex);
    struct told_loss *loss = client->joint_losses[queue];
    if (loss) {
        client->joint_losses[queue] = loss->next;
        *event = loss->event;
    }
    pthread_mutex_unlock(&holds_mutex);
    free(loss);
    return loss != NULL;
}

void joint_discard_losses(struct client *client) {
    for (int queue = LOSS_EVENTS; queue <= LOSS_THREADS; queue++) {
        for (struct told_loss *loss; (loss = client->joint_losses[queue]) != NULL;) {
            client->joint_losses[queue] = loss->next;
            free(loss);
        }
    }
}

/* ----------------------------------------------------------------------------------------------------- the holds -- */

/* Enters what the members' holds are called now; of the first level with the number `serial`. */
static void note(struct joint *joint, uint64_t owner, struct joint_hold *room, const uint64_t *members,
                 uint64_t serial) {
    struct joint_hold **place = place_of(joint, owner);
    if (*place && is_another(joint, *place, members)) {
        remove_hold(joint, place);
        place = place_of(joint, owner);
    }
    struct joint_hold *hold = *place;
    if (!hold && !room) {
        return; /* no memory: known by its members' holds alone */
    }
    if (hold) {
        free(room);
    } else {
        if (!joint->holds) {
            enlist(joint);
        }
        hold = room;
        hold->owner = owner;
        hold->serial = serial;
        hold->next = joint->holds;
        joint->holds = hold;
    }
    hold->levels++;
    memcpy(hold->members, members, joint->member_count * sizeof *members);
    judge(joint, hold, REDLATCH_REASON_EXPIRED); /* what was lost before it was noted */
}

void joint_note_granted(struct joint *joint, uint64_t owner, struct joint_hold *room) {
    uint64_t members[REDLATCH_MEMBERS_MAX] = {0};
    uint64_t *member = members;
    uint64_t serial = 0;
    bool entered = joint_is_one_set(joint);
    for (uint32_t i = 0; i < joint->group_count; i++) {
        struct client *client = joint->groups[i].client;
        if (!entered) {
            client_lock(client);
        }
        read_members(&joint->groups[i], owner, member);
        if (client == joint->first) {
            serial = ++client->engine.last_id;
        }
        if (!entered) {
            client_unlock(client);
        }
        member += joint->groups[i].set->count;
    }
    pthread_mutex_lock(&holds_mutex);
    note(joint, owner, room, members, serial);
    pthread_mutex_unlock(&holds_mutex);
}

void joint_note_released(struct joint *joint, uint64_t owner, int status) {
    pthread_mutex_lock(&holds_mutex);
    struct joint_hold **place = place_of(joint, owner);
    if (*place && (--(*place)->levels == 0 || status == REDLATCH_NOT_OWNED)) {
        remove_hold(joint, place);
    }
    pthread_mutex_unlock(&holds_mutex);
}

uint64_t joint_serial(struct joint *joint, uint64_t owner) {
    pthread_mutex_lock(&holds_mutex);
    const struct joint_hold *hold = *place_of(joint, owner);
    uint64_t serial = hold ? hold->serial : 0;
    pthread_mutex_unlock(&holds_mutex);
    return serial;
}

bool joint_is_lost(struct joint *joint, uint64_t owner) {
    pthread_mutex_lock(&holds_mutex);
    const struct joint_hold *hold = *place_of(joint, owner);
    bool lost = hold && hold->lost;
    pthread_mutex_unlock(&holds_mutex);
    return lost;
}

void joint_forget_holds(struct joint *joint) {
    pthread_mutex_lock(&holds_mutex);
    while (joint->holds) {
        remove_hold(joint, &joint->holds);
    }
    pthread_mutex_unlock(&holds_mutex);
}
