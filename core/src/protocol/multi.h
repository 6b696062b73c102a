/* The machine of a lock over several servers: which groups of members to ask, to give back, to wait for.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A group is what one command acquires on one server. A driver carries out the actions that multi_next hands out until
 * there are none, tells the machine what came of them, and calls multi_next again when multi_timer says so. */
#ifndef MULTI_H
#define MULTI_H

#include "records.h"

enum multi_action_kind {
    MULTI_NOTHING, /* until something happens, or the timer */
    MULTI_TRY,     /* ask a group once; then multi_tried */
    MULTI_ABORT,   /* end a try that is under way, undoing it in the background; no reply is expected */
    MULTI_RELEASE, /* give back what this acquire was granted of a group; then multi_released */
    MULTI_WATCH,   /* wait until a member is free, by multi_watched; or end that wait, see `stop` */
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
    uint32_t member;  /* that was in the way */
    int64_t deadline; /* of what was granted */
};

enum multi_phase {
    MULTI_TOGETHER, /* all are asked at once */
    MULTI_ORDERED,  /* one after the other */
    MULTI_UNDOING,  /* giving back */
    MULTI_WATCHING, /* for the member that was in the way, holding nothing */
    MULTI_PAUSING,
    MULTI_OVER
};

struct multi {
    struct multi_group *groups; /* memory of the driver */
    uint32_t count;
    uint32_t quorum;             /* groups that must be granted */
    bool non_blocking;           /* does not wait for others */
    bool brief;                  /* waits for so short that a missing reply says nothing about a server */
    int64_t unreachable_timeout; /* how long the servers may be unusable */
    uint64_t random;
    uint8_t phase;
    uint8_t next_phase; /* after UNDOING or PAUSING */
    bool watch_begun, watch_over;
    bool ordered; /* a round together has failed: from now on one after the other */
    uint32_t attempts;
    uint32_t lead; /* the group that is asked first of an ordered round */
    uint32_t watched_group, watched_member;
    int64_t started_at;     /* of the round */
    int64_t until;          /* TOGETHER and decided: when the others must have answered; WATCHING, PAUSING: its end;
                               0: none */
    int64_t unusable_since; /* 0: the servers answer */
    int transient_error;
    int verdict; /* why it is to end once all is given back; 0: not at all */
    bool contended;
    int status; /* once it is over */
};

/* When those that have not answered by the time that it is decided are given up: half as long again as that took, and
 * five milliseconds. A hold on all servers outlives more than one on a bare majority. */
static inline int64_t multi_moment(int64_t started_at, int64_t now) {
    return now + (now - started_at) / 2 + 5 * MILLISECOND;
}

/* `count` groups of which `quorum` are needed: all of them, or a majority. */
void multi_init(struct multi *multi, struct multi_group *groups, uint32_t count, uint32_t quorum, uint64_t random);

struct multi_action multi_next(struct multi *multi, int64_t now);
int64_t multi_timer(const struct multi *multi);

/* What came of a try: OK with the end of its safe time, TIMEOUT with the member that others hold, or why it failed. */
void multi_tried(struct multi *multi, uint32_t index, int status, uint32_t member, int64_t deadline, int64_t now);
void multi_released(struct multi *multi, uint32_t group);
void multi_watched(struct multi *multi, int status, int64_t now);

/* The caller has had enough: TIMEOUT, CANCELLED, CLOSED. What was granted is given back first. */
void multi_give_up(struct multi *multi, int status);

#endif
