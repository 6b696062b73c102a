/* The machine of a lock over several servers: each row of the table at the head of multi.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "multi.h"
#include "unit.h"

static struct multi multi;
static struct multi_group groups[8];
static int64_t now;

/* Returns the member of a group that is in the way: another one for each group. */
static uint32_t in_the_way(uint32_t group) {
    return group + 3;
}

static void begin(uint32_t count, uint32_t quorum) {
    multi_init(&multi, groups, count, quorum, 7);
    now = 1000 * SECOND;
}

/* Returns the next action as a word: t0 tries the first group, r releases, a aborts, w watches, s stops the watch, d is
 * done, - is nothing. */
static const char *next(void) {
    static char word[3];
    static const char letters[] = "-tarwd";
    struct multi_action action = multi_next(&multi, now);
    CHECK(action.kind != MULTI_WATCH || action.member == in_the_way(action.group));
    word[0] = action.kind == MULTI_WATCH && action.stop ? 's' : letters[action.kind];
    word[1] = action.kind == MULTI_NOTHING || action.kind == MULTI_DONE ? '\0' : (char)('0' + action.group);
    word[2] = '\0';
    return word;
}

static void expect(const char *words) {
    char word[3] = "";
    for (const char *at = words; *at; at += at[0] == '-' || at[0] == 'd' ? 1 : 2) {
        memcpy(word, at, at[0] == '-' || at[0] == 'd' ? 1 : 2);
        word[at[0] == '-' || at[0] == 'd' ? 1 : 2] = '\0';
        CHECK_STR(next(), word);
    }
}

static void grant(uint32_t group) {
    multi_tried(&multi, group, REDLATCH_OK, 0, now + 10 * SECOND, now);
}

static void refuse(uint32_t group, int status) {
    multi_tried(&multi, group, status, in_the_way(group), 0, now);
}

/* Advances the time to that of the machine's timer. */
static void pass(void) {
    CHECK(multi_timer(&multi) != NEVER);
    now = multi_timer(&multi);
}

static void all_at_once_and_done_with_the_last(void) {
    begin(3, 3);
    expect("t0t1t2-");
    grant(1);
    expect("-");
    grant(0);
    grant(2);
    expect("d");
    CHECK_EQ_INT(multi.status, REDLATCH_OK);
}

static void a_conflict_gives_all_back_and_then_begins_with_what_was_in_the_way(void) {
    begin(3, 3);
    expect("t0t1t2-");
    grant(0);
    refuse(1, REDLATCH_TIMEOUT);
    grant(2);
    expect("r0r2-");
    multi_released(&multi, 0);
    expect("-");
    multi_released(&multi, 2);
    expect("w1-");
    multi_watched(&multi, REDLATCH_OK, now);
    expect("t1-"); /* first the group that was in the way, then the others */
    grant(1);
    expect("t0-");
    grant(0);
    expect("t2-");
    grant(2);
    expect("d");
    CHECK_EQ_INT(multi.status, REDLATCH_OK);
}

static void a_conflict_while_something_is_held_pauses_before_the_watch(void) {
    begin(2, 2);
    expect("t0t1-");
    refuse(0, REDLATCH_TIMEOUT);
    refuse(1, REDLATCH_TIMEOUT);
    expect("w0-");
    multi_watched(&multi, REDLATCH_OK, now);
    expect("t0-");
    grant(0);
    expect("t1-");
    refuse(1, REDLATCH_TIMEOUT);
    expect("r0-");
    multi_released(&multi, 0);
    expect("-");
    pass();
    expect("w1-");
    multi_watched(&multi, REDLATCH_OK, now);
    expect("t1-");
    refuse(1, REDLATCH_TIMEOUT);
    expect("w1-"); /* nothing was held: no pause */
}

static void a_try_says_who_is_in_the_way(void) {
    begin(2, 2);
    multi.non_blocking = true;
    expect("t0t1-");
    grant(0);
    refuse(1, REDLATCH_TIMEOUT);
    expect("r0-");
    multi_released(&multi, 0);
    expect("d");
    CHECK_EQ_INT(multi.status, REDLATCH_TIMEOUT);
}

static void what_no_round_can_mend_ends_it(void) {
    begin(2, 2);
    expect("t0t1-");
    grant(0);
    refuse(1, REDLATCH_WRONG_TYPE);
    expect("r0-");
    multi_released(&multi, 0);
    expect("d");
    CHECK_EQ_INT(multi.status, REDLATCH_WRONG_TYPE);
}

static void servers_that_can_not_be_used_are_tried_again_until_the_deadline(void) {
    begin(2, 2);
    multi.unreachable_timeout = SECOND;
    expect("t0t1-");
    int rounds = 0;
    while (multi.phase != MULTI_OVER && rounds++ < 1000) {
        grant(0);
        refuse(1, REDLATCH_UNREACHABLE);
        expect("r0-");
        multi_released(&multi, 0);
        CHECK(next()[0] == (multi.phase == MULTI_OVER ? 'd' : '-'));
        if (multi.phase != MULTI_OVER) {
            pass();
            expect("t0t1-");
        }
    }
    CHECK_EQ_INT(multi.status, REDLATCH_UNREACHABLE);
    CHECK(rounds > 2 && rounds < 100);
}

static void a_majority_is_enough_after_a_moment_for_the_others(void) {
    begin(5, 3);
    expect("t0t1t2t3t4-");
    now += MILLISECOND;
    grant(0);
    grant(3);
    grant(4);
    expect("-");
    grant(1);
    expect("-");
    CHECK(multi_timer(&multi) > now && multi_timer(&multi) <= now + 6 * MILLISECOND);
    pass();
    expect("a2d");
    CHECK_EQ_INT(multi.status, REDLATCH_OK);
}

static void without_a_majority_all_is_given_back_also_what_never_answered(void) {
    begin(5, 3);
    multi.non_blocking = true;
    expect("t0t1t2t3t4-");
    grant(0);
    refuse(1, REDLATCH_TIMEOUT);
    refuse(2, REDLATCH_UNREACHABLE);
    refuse(3, REDLATCH_TIMEOUT);
    pass();
    expect("r0a4-");
    multi_released(&multi, 0);
    expect("d");
    CHECK_EQ_INT(multi.status, REDLATCH_TIMEOUT);
}

static void a_majority_tries_again_after_a_watch_and_a_random_time(void) {
    begin(3, 2);
    expect("t0t1t2-");
    refuse(0, REDLATCH_TIMEOUT);
    refuse(1, REDLATCH_TIMEOUT);
    grant(2);
    expect("r2-");
    multi_released(&multi, 2);
    expect("w0-");
    multi_watched(&multi, REDLATCH_OK, now);
    expect("-");
    pass();
    expect("t0t1t2-");
}

/* A majority may do without the server. */
static void a_watch_that_fails_for_good_ends_only_what_needs_all(void) {
    begin(3, 2);
    expect("t0t1t2-");
    for (uint32_t i = 0; i < 3; i++) {
        refuse(i, REDLATCH_TIMEOUT);
    }
    expect("w0-");
    multi_watched(&multi, REDLATCH_WRONG_TYPE, now);
    expect("-");
    pass();
    expect("t0t1t2-");
    refuse(0, REDLATCH_WRONG_TYPE);
    grant(1);
    grant(2);
    expect("d");
    CHECK_EQ_INT(multi.status, REDLATCH_OK);
    begin(2, 2);
    expect("t0t1-");
    refuse(0, REDLATCH_TIMEOUT);
    refuse(1, REDLATCH_TIMEOUT);
    expect("w0-");
    multi_watched(&multi, REDLATCH_WRONG_TYPE, now);
    expect("d");
    CHECK_EQ_INT(multi.status, REDLATCH_WRONG_TYPE);
}

/* The watched group may be the last to become free. Other groups may be free, or reachable again, sooner. */
static void a_majority_rechecks_while_it_watches(void) {
    static const struct {
        int other;
        int64_t longest;
    } cases[] = {{REDLATCH_NO_REPLY, SECOND}, {REDLATCH_TIMEOUT, 5 * SECOND}};
    for (int i = 0; i < 2; i++) {
        begin(3, 2);
        expect("t0t1t2-");
        refuse(0, REDLATCH_TIMEOUT);
        grant(2);
        refuse(1, cases[i].other);
        expect("r2-");
        multi_released(&multi, 2);
        expect("w0-");
        CHECK(multi_timer(&multi) <= now + cases[i].longest);
        pass();
        expect("s0-");
        pass();
        expect("t0t1t2-");
    }
    begin(2, 2); /* a multi lock needs all groups, so it may wait for any of them */
    expect("t0t1-");
    refuse(0, REDLATCH_TIMEOUT);
    refuse(1, REDLATCH_TIMEOUT);
    expect("w0-");
    CHECK(multi_timer(&multi) == NEVER);
}

static void the_safe_time_is_that_of_the_majority(void) {
    begin(3, 2);
    expect("t0t1t2-");
    multi_tried(&multi, 0, REDLATCH_OK, 0, now - 1, now);
    multi_tried(&multi, 1, REDLATCH_OK, 0, now + SECOND, now);
    refuse(2, REDLATCH_TIMEOUT);
    expect("r0r1-"); /* of two grants only one is safe */
    multi_released(&multi, 0);
    multi_released(&multi, 1);
    expect("d");
    CHECK_EQ_INT(multi.status, REDLATCH_LOST);
}

/* No group has replied. A brief acquire ends with TIMEOUT, any other with NO_REPLY. */
static void giving_up_before_any_answer(void) {
    for (int brief = 0; brief < 2; brief++) {
        begin(2, 2);
        multi.brief = brief;
        expect("t0t1-");
        multi_give_up(&multi, REDLATCH_TIMEOUT);
        expect("a0a1d");
        CHECK_EQ_INT(multi.status, brief ? REDLATCH_TIMEOUT : REDLATCH_NO_REPLY);
    }
}

static void giving_up_ends_tries_watches_and_pauses(void) {
    begin(2, 2);
    expect("t0t1-");
    grant(0);
    multi_give_up(&multi, REDLATCH_CANCELLED);
    expect("r0a1-");
    multi_released(&multi, 0);
    expect("d");
    CHECK_EQ_INT(multi.status, REDLATCH_CANCELLED);

    begin(2, 2);
    expect("t0t1-");
    refuse(0, REDLATCH_TIMEOUT);
    refuse(1, REDLATCH_TIMEOUT);
    expect("w0-");
    multi_give_up(&multi, REDLATCH_TIMEOUT);
    expect("s0d");
    CHECK_EQ_INT(multi.status, REDLATCH_TIMEOUT);

    begin(2, 2);
    expect("t0t1-");
    refuse(0, REDLATCH_UNREACHABLE);
    refuse(1, REDLATCH_UNREACHABLE);
    expect("-");
    multi_give_up(&multi, REDLATCH_TIMEOUT);
    expect("d");
    CHECK_EQ_INT(multi.status, REDLATCH_UNREACHABLE); /* nobody was in the way */
}

int main(void) {
    RUN(all_at_once_and_done_with_the_last);
    RUN(a_conflict_gives_all_back_and_then_begins_with_what_was_in_the_way);
    RUN(a_conflict_while_something_is_held_pauses_before_the_watch);
    RUN(a_try_says_who_is_in_the_way);
    RUN(what_no_round_can_mend_ends_it);
    RUN(servers_that_can_not_be_used_are_tried_again_until_the_deadline);
    RUN(a_majority_is_enough_after_a_moment_for_the_others);
    RUN(without_a_majority_all_is_given_back_also_what_never_answered);
    RUN(a_majority_tries_again_after_a_watch_and_a_random_time);
    RUN(a_watch_that_fails_for_good_ends_only_what_needs_all);
    RUN(a_majority_rechecks_while_it_watches);
    RUN(the_safe_time_is_that_of_the_majority);
    RUN(giving_up_before_any_answer);
    RUN(giving_up_ends_tries_watches_and_pauses);
    return unit_done();
}
