/* The machine of a lock over several servers.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   phase      event                                       next
 *   TOGETHER   a quorum is granted                         OVER (OK), after a moment for the others
 *              a quorum is out of reach                    UNDOING, after a moment for the others
 *   ORDERED    a group is granted                          the next group; OVER (OK) after the last
 *              a group is not granted                      UNDOING
 *   UNDOING    all released, and the caller gives up       OVER
 *              all released, a member is contended         WATCHING; PAUSING first if another group was held meanwhile
 *              all released, a server is unusable          PAUSING, longer each time
 *   WATCHING   the member is free                          ORDERED; if a majority is enough PAUSING, then TOGETHER
 *              the watch fails                             PAUSING, then TOGETHER; OVER if the error is permanent and
 *                                                          all groups are needed
 *              majority: watched for long                  PAUSING, then TOGETHER: others may be free, or up, by now
 *   PAUSING    its end                                     TOGETHER, ORDERED or WATCHING
 *
 * A round together is the fastest if no member is contended. Under contention, two callers that request all groups in
 * parallel may take members from each other again and again. In an ordered round, the caller that gets the first group
 * is ahead of all callers that begin with it, and all come to begin with the contended group. No caller waits while it
 * holds something. If a majority is enough, rounds are not ordered, because a server that is down would stop every
 * caller: there the random pause decides. */
#include "multi.h"

#include <string.h>

#include "planted.h"

/* The longest random pauses: after a conflict, and while servers are unusable. */
enum { CONFLICT_PAUSE_MS = 32, ERROR_PAUSE_MS = 1000 };

/* How long an acquire of a majority watches one of its members at most. */
static const int64_t WATCH_LONGEST = 5 * SECOND;

void multi_init(struct multi *multi, struct multi_group *groups, uint32_t count, uint32_t quorum, uint64_t random) {
    memset(multi, 0, sizeof *multi);
    memset(groups, 0, count * sizeof *groups);
    multi->groups = groups;
    multi->count = count;
    multi->quorum = PLANTED(FAULT_MINORITY_IS_ENOUGH) ? quorum - 1 : quorum;
    multi->random = random | 1;
    multi->unreachable_timeout = NEVER;
    multi->phase = MULTI_PAUSING; /* a pause that ends at once */
    multi->next_phase = MULTI_TOGETHER;
}

/* xorshift64: jitter needs no better. */
static int64_t jitter(struct multi *multi, int64_t bound_ms) {
    multi->random ^= multi->random << 13;
    multi->random ^= multi->random >> 7;
    multi->random ^= multi->random << 17;
    return (int64_t)(multi->random % (uint64_t)(bound_ms * MILLISECOND));
}

static uint32_t in_state(const struct multi *multi, enum multi_group_state state) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < multi->count; i++) {
        count += multi->groups[i].state == state;
    }
    return count;
}

static bool needs_all(const struct multi *multi) {
    return multi->quorum == multi->count;
}

static void over(struct multi *multi, int status) {
    multi->phase = MULTI_OVER;
    multi->status = status;
}

/* -------------------------------------------------------------------------------------------------------- rounds -- */

static void begin_round(struct multi *multi, int64_t now) {
    multi->phase = needs_all(multi) && multi->ordered ? MULTI_ORDERED : MULTI_TOGETHER;
    multi->started_at = now;
    multi->until = 0;
    for (uint32_t i = 0; i < multi->count; i++) {
        multi->groups[i] = (struct multi_group){.state = GROUP_IDLE};
        if (multi->phase == MULTI_TOGETHER || i == multi->lead) {
            multi->groups[i].state = GROUP_WANTED;
        }
    }
}

/* Returns the end of the safe time that a quorum of granted groups has. Returns 0 without a quorum. */
static int64_t safe_until(const struct multi *multi) {
    int64_t best = 0;
    for (uint32_t i = 0; i < multi->count; i++) {
        uint32_t as_long = 0;
        for (uint32_t j = 0; j < multi->count; j++) {
            const struct multi_group *other = &multi->groups[j];
            as_long += other->state == GROUP_GRANTED && other->deadline >= multi->groups[i].deadline;
        }
        bool counts = multi->groups[i].state == GROUP_GRANTED && as_long >= multi->quorum;
        best = counts && multi->groups[i].deadline > best ? multi->groups[i].deadline : best;
    }
    return best;
}

static void undo(struct multi *multi) {
    multi->phase = MULTI_UNDOING;
    for (uint32_t i = 0; i < multi->count; i++) {
        if (multi->groups[i].state == GROUP_WANTED) {
            multi->groups[i].state = GROUP_IDLE;
        } else if (multi->groups[i].state == GROUP_GRANTED) {
            multi->groups[i].state = PLANTED(FAULT_ROUND_KEPT_IN_PART) ? GROUP_IDLE : GROUP_UNWANTED;
        }
    }
}

static void succeed(struct multi *multi, int64_t now) {
    if (safe_until(multi) > now || PLANTED(FAULT_LATE_ROUND_IS_BELIEVED)) {
        over(multi, REDLATCH_OK);
    } else {
        multi->verdict = REDLATCH_LOST;
        undo(multi);
    }
}

/* Ends a round together once it is decided and the others have had their moment. */
static void judge(struct multi *multi, int64_t now) {
    uint32_t granted = in_state(multi, GROUP_GRANTED);
    uint32_t open = in_state(multi, GROUP_TRYING) + in_state(multi, GROUP_WANTED);
    if (granted < multi->quorum && granted + open >= multi->quorum) {
        return;
    }
    if (multi->until == 0) {
        multi->until = multi_moment(multi->started_at, now);
    }
    if (open > 0 && now < multi->until) {
        return;
    }
    if (granted >= multi->quorum) {
        succeed(multi, now);
    } else {
        undo(multi);
    }
}

/* Requests the group after `group`: first the contended one, then the others in their order. If the order never
 * changed, a caller would give way again and again to callers that hold another group and wait for its first one, as
 * with Redisson's multi locks (W-15). */
static void go_on_in_order(struct multi *multi, uint32_t group, int64_t now) {
    if (multi->groups[group].state != GROUP_GRANTED) {
        undo(multi);
        return;
    }
    uint32_t next = group == multi->lead ? 0 : group + 1;
    next += next == multi->lead;
    if (next == multi->count) {
        succeed(multi, now);
    } else {
        multi->groups[next].state = GROUP_WANTED;
    }
}

void multi_tried(struct multi *multi, uint32_t index, int status, uint32_t member, int64_t deadline, int64_t now) {
    struct multi_group *group = &multi->groups[index];
    group->state = status == REDLATCH_OK ? GROUP_GRANTED : GROUP_IDLE;
    group->answered = true;
    group->status = status;
    group->member = member;
    group->deadline = deadline;
    if (status == REDLATCH_OK || status == REDLATCH_TIMEOUT) {
        multi->contended = multi->contended || status == REDLATCH_TIMEOUT;
        if (needs_all(multi) || status == REDLATCH_TIMEOUT) {
            multi->transient_error = 0;
        }
    }
    if (multi->phase == MULTI_TOGETHER) {
        judge(multi, now);
    } else if (multi->phase == MULTI_ORDERED) {
        go_on_in_order(multi, index, now);
    } else if (group->state == GROUP_GRANTED) { /* the round has ended meanwhile */
        group->state = GROUP_UNWANTED;
    }
}

/* ------------------------------------------------------------------------------------------------- after a round -- */

static void pause_for(struct multi *multi, int64_t bound_ms, enum multi_phase then, int64_t now) {
    multi->phase = MULTI_PAUSING;
    multi->next_phase = (uint8_t)then;
    multi->until = now + MILLISECOND / 4 + jitter(multi, bound_ms);
}

static int64_t growing(const struct multi *multi, int64_t cap_ms) {
    int64_t bound_ms = INT64_C(1) << (multi->attempts < 12 ? multi->attempts : 12);
    return bound_ms < cap_ms ? bound_ms : cap_ms;
}

/* Returns a failure that no further round can mend, if so many groups have one that a quorum is out of reach. Else
 * returns OK. */
static int hopeless(const struct multi *multi) {
    uint32_t failed = 0;
    int status = REDLATCH_OK;
    for (uint32_t i = 0; i < multi->count; i++) {
        const struct multi_group *group = &multi->groups[i];
        bool waits = group->status == REDLATCH_TIMEOUT || redlatch_status_is_retryable(group->status);
        if (group->answered && group->status != REDLATCH_OK && !waits) {
            status = failed++ == 0 ? group->status : status;
        }
    }
    return multi->count - failed < multi->quorum ? status : REDLATCH_OK;
}

static bool find_answer(const struct multi *multi, bool held_by_others, uint32_t *group_out) {
    for (uint32_t i = 0; i < multi->count; i++) {
        const struct multi_group *group = &multi->groups[i];
        bool failed = group->answered && group->status != REDLATCH_OK;
        if (failed && (group->status == REDLATCH_TIMEOUT) == held_by_others) {
            *group_out = i;
            return true;
        }
    }
    return false;
}

/* If a majority is enough, the watched member may not be the first to become free. So the watch has an end, after which
 * a round requests all groups. */
static void start_watching(struct multi *multi, int64_t now) {
    uint32_t failed;
    bool troubled = find_answer(multi, false, &failed);
    int64_t longest = troubled ? growing(multi, ERROR_PAUSE_MS) * MILLISECOND : WATCH_LONGEST;
    multi->phase = MULTI_WATCHING;
    multi->until = needs_all(multi) ? 0 : now + longest;
}

/* All is released: decides whether the acquire is over, pauses or watches. */
static void reconsider(struct multi *multi, int64_t now) {
    uint32_t group = 0;
    bool busy = find_answer(multi, true, &group);
    uint32_t failed = 0;
    bool troubled = find_answer(multi, false, &failed);
    int verdict = multi->verdict ? multi->verdict : hopeless(multi);
    if (troubled && !busy && !verdict) {
        multi->transient_error = multi->groups[failed].status;
        multi->unusable_since = multi->unusable_since ? multi->unusable_since : now;
        verdict = now - multi->unusable_since >= multi->unreachable_timeout ? multi->transient_error : REDLATCH_OK;
    } else if (busy) {
        multi->unusable_since = 0;
    }
    if (!verdict && multi->non_blocking) {
        verdict = busy ? REDLATCH_TIMEOUT : multi->transient_error;
    }
    if (verdict) {
        over(multi, verdict);
        return;
    }
    multi->attempts++;
    if (!busy) {
        pause_for(multi, growing(multi, ERROR_PAUSE_MS), MULTI_TOGETHER, now);
        return;
    }
    bool conflict = needs_all(multi) && multi->ordered && group != multi->lead;
    multi->ordered = true;
    multi->lead = group;
    multi->watched_group = group;
    multi->watched_member = multi->groups[group].member;
    multi->watch_begun = false;
    multi->watch_over = false;
    if (conflict) {
        pause_for(multi, growing(multi, CONFLICT_PAUSE_MS), MULTI_WATCHING, now);
    } else {
        start_watching(multi, now);
    }
}

void multi_released(struct multi *multi, uint32_t group) {
    multi->groups[group].state = GROUP_IDLE;
}

void multi_watched(struct multi *multi, int status, int64_t now) {
    multi->watch_over = true;
    if (multi->phase != MULTI_WATCHING || PLANTED(FAULT_WATCH_IS_FORGOTTEN)) {
        return;
    }
    bool failed = status != REDLATCH_OK && status != REDLATCH_TIMEOUT;
    if (failed && !redlatch_status_is_retryable(status) && needs_all(multi)) {
        over(multi, status);
    } else if (failed) { /* with a majority the next round decides whether the others are enough */
        pause_for(multi, growing(multi, ERROR_PAUSE_MS), MULTI_TOGETHER, now);
    } else if (needs_all(multi)) {
        begin_round(multi, now);
    } else {
        pause_for(multi, growing(multi, CONFLICT_PAUSE_MS), MULTI_TOGETHER, now);
    }
}

void multi_give_up(struct multi *multi, int status) {
    if (multi->phase == MULTI_OVER || multi->verdict) {
        return;
    }
    if (status == REDLATCH_TIMEOUT && !multi->contended) {
        status = multi->transient_error ? multi->transient_error : multi->brief ? REDLATCH_TIMEOUT : REDLATCH_NO_REPLY;
    }
    multi->verdict = status;
    undo(multi);
}

/* ------------------------------------------------------------------------------------------------------- actions -- */

/* Returns what is to be done with a group now, and notes it as begun. */
static enum multi_action_kind group_action(const struct multi *multi, struct multi_group *group) {
    if (group->state == GROUP_WANTED) {
        group->state = GROUP_TRYING;
        return MULTI_TRY;
    }
    if (group->state == GROUP_TRYING && (multi->phase == MULTI_UNDOING || multi->phase == MULTI_OVER)) {
        group->state = GROUP_IDLE;
        return MULTI_ABORT;
    }
    if (group->state == GROUP_UNWANTED) {
        group->state = GROUP_RELEASING;
        return MULTI_RELEASE;
    }
    return MULTI_NOTHING;
}

static bool watches(const struct multi *multi) {
    return multi->watch_begun && !multi->watch_over;
}

/* Changes the phase if the time or the states of the groups say so. */
static void advance(struct multi *multi, int64_t now) {
    if (multi->phase == MULTI_TOGETHER) {
        judge(multi, now);
    }
    if (multi->phase == MULTI_WATCHING && multi->until && now >= multi->until) {
        pause_for(multi, growing(multi, CONFLICT_PAUSE_MS), MULTI_TOGETHER, now);
    }
    if (multi->phase == MULTI_PAUSING && now >= multi->until && !watches(multi)) {
        if (multi->next_phase == MULTI_WATCHING) {
            start_watching(multi, now);
        } else {
            begin_round(multi, now);
        }
    }
    uint32_t held = in_state(multi, GROUP_TRYING) + in_state(multi, GROUP_UNWANTED) + in_state(multi, GROUP_RELEASING);
    if (multi->phase == MULTI_UNDOING && held == 0 && !watches(multi)) {
        reconsider(multi, now);
    }
}

struct multi_action multi_next(struct multi *multi, int64_t now) {
    advance(multi, now);
    for (uint32_t i = 0; i < multi->count; i++) {
        enum multi_action_kind kind = group_action(multi, &multi->groups[i]);
        if (kind != MULTI_NOTHING) {
            return (struct multi_action){.kind = kind, .group = i};
        }
    }
    struct multi_action watch = {MULTI_WATCH, multi->watched_group, multi->watched_member, watches(multi)};
    if (multi->phase != MULTI_WATCHING && watches(multi)) {
        multi->watch_over = true;
        return watch;
    }
    if (multi->phase == MULTI_WATCHING && !multi->watch_begun) {
        multi->watch_begun = true;
        return watch;
    }
    if (multi->phase == MULTI_UNDOING && in_state(multi, GROUP_RELEASING) == 0) {
        return multi_next(multi, now);
    }
    return (struct multi_action){.kind = multi->phase == MULTI_OVER ? MULTI_DONE : MULTI_NOTHING};
}

int64_t multi_timer(const struct multi *multi) {
    bool may_end = multi->phase == MULTI_TOGETHER || multi->phase == MULTI_WATCHING;
    bool timed = multi->phase == MULTI_PAUSING || (may_end && multi->until);
    return timed ? multi->until : NEVER;
}
