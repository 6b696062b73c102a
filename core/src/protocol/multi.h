/* The machine of a lock over several servers: which groups of members to request, to release, to wait for.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A group is what one command acquires on one server. A driver carries out the actions that multi_next returns until
 * there are none, reports their results, and calls multi_next again at the time of multi_timer. */
#ifndef MULTI_H
#define MULTI_H

#include "records.h"

enum multi_action_kind {
    MULTI_NOTHING, /* until a result is reported, or the timer */
    MULTI_TRY,     /* request a group once; then multi_tried */
    MULTI_ABORT,   /* end a try in progress, and undo it in the background; nothing is reported */
    MULTI_RELEASE, /* release what this acquire was granted of a group; then multi_released */
    MULTI_WATCH,   /* wait until a member is free; then multi_watched; with `stop`, end that wait */
    MULTI_DONE
};

struct multi_action {
    enum multi_action_kind kind;
    uint32_t group;
    uint32_t member;
    bool stop;
};

enum multi_group_state { GROUP_IDLE, GROUP_WANTED, GROUP_TRYING, GROUP_GRANTED, GROUP_UNWANTED, GROUP_RELEASING };

struct multi_group {
    uint8_t state;
    bool answered;
    int status;       /* of the last try */
    uint32_t member;  /* the contended one */
    int64_t deadline; /* end of the safe time of the grant */
};

enum multi_phase {
    MULTI_TOGETHER, /* all groups are requested at once */
    MULTI_ORDERED,  /* one group after the other */
    MULTI_UNDOING,  /* releasing what was granted */
    MULTI_WATCHING, /* waiting for the contended member, holding nothing */
    MULTI_PAUSING,
    MULTI_OVER
};

struct multi {
    struct multi_group *groups; /* memory of the driver */
    uint32_t count;
    uint32_t quorum;             /* groups that must be granted */
    bool non_blocking;           /* does not wait for others */
    bool brief;                  /* waits so briefly that a missing reply says nothing about a server */
    int64_t unreachable_timeout; /* how long the servers may be unusable */
    uint64_t random;
    uint8_t phase;
    uint8_t next_phase; /* after UNDOING or PAUSING */
    bool watch_begun, watch_over;
    bool ordered; /* a round found a member contended: later ones are ordered, if all groups are needed */
    uint32_t attempts;
    uint32_t lead; /* the group that an ordered round requests first */
    uint32_t watched_group, watched_member;
    int64_t started_at; /* of the round */
    int64_t until; /* TOGETHER and decided: when the others must have replied; WATCHING, PAUSING: its end; 0: none */
    int64_t unusable_since; /* 0: the servers answer */
    int transient_error;
    int verdict; /* the status to end with once all is released; 0: it goes on */
    bool contended;
    int status; /* once it is over */
};

/* Returns until when a decided round waits for the groups that have not replied: half as long as the decision took, and
 * 5 ms. A hold on all servers survives more losses than one on a bare majority. */
static inline int64_t multi_moment(int64_t started_at, int64_t now) {
    return now + (now - started_at) / 2 + 5 * MILLISECOND;
}

/* `count` groups of which `quorum` are needed: all of them, or a majority. */
void multi_init(struct multi *multi, struct multi_group *groups, uint32_t count, uint32_t quorum, uint64_t random);

struct multi_action multi_next(struct multi *multi, int64_t now);
int64_t multi_timer(const struct multi *multi);

/* Reports the result of a try: OK with the end of its safe time, TIMEOUT with the contended member, or why it
 * failed. */
void multi_tried(struct multi *multi, uint32_t index, int status, uint32_t member, int64_t deadline, int64_t now);
void multi_released(struct multi *multi, uint32_t group);
void multi_watched(struct multi *multi, int status, int64_t now);

/* The caller gives up: TIMEOUT, CANCELLED or CLOSED. What was granted is released before the machine is over. */
void multi_give_up(struct multi *multi, int status);

#endif
