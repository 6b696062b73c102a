/* Sets of several names: each row of the tables at the heads of set.c and set_release.c that is about releases.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

#include <string.h>

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

static struct hold *hold_of(const char *name, uint64_t owner) {
    return resource_hold_of(rig_name(name), rig.lock_kind, owner);
}

static void grant(const char *letters, uint64_t owner) {
    struct call *call = rig_acquire_all(letters, owner);
    rig_send(PIPELINE);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
}

/* Releases by one request, which the server accepts. */
static void release_well(const char *letters) {
    struct call *end = rig_release_all(letters, 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->entry_end, strlen(letters));
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(end->status, REDLATCH_OK);
}

static void nothing_held_is_not_owned(void) {
    rig_open();
    CHECK_EQ_INT(rig_release_all("ab", 1)->status, REDLATCH_NOT_OWNED);
    RIG_CLOSE();
}

static void one_number_is_the_answer_for_each(void) {
    rig_open();
    for (int found = 0; found < 2; found++) {
        grant("abc", 1);
        struct call *end = rig_release_all("abc", 1);
        rig_send(PIPELINE);
        rig_integer(PIPELINE, found);
        CHECK_EQ_INT(end->status, found ? REDLATCH_OK : REDLATCH_LOST);
    }
    RIG_CLOSE();
}

static void a_loss_of_one_is_reported_and_the_others_are_given_back(void) {
    rig_open();
    grant("ab", 1);
    struct call *end = rig_release_all("ab", 1);
    rig_send(PIPELINE);
    rig_integers(PIPELINE, (const int64_t[]){1, 0}, 2);
    CHECK_EQ_INT(end->status, REDLATCH_LOST);
    grant("ab", 1);
    hold_of("a", 1)->deadline = rig.now; /* the client's clock finds the loss first */
    end = rig_release_all("ab", 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->entry_count, 1);
    rig_integers(PIPELINE, (const int64_t[]){1}, 1);
    CHECK_EQ_INT(end->status, REDLATCH_LOST);
    CHECK(hold_of("a", 1) == NULL && hold_of("b", 1) == NULL);
    RIG_CLOSE();
}

/* The server still has the hold, with the count that the release states. Nobody shall wait for its lease. */
static void what_was_lost_meanwhile_is_given_back(void) {
    rig_open();
    grant("ab", 1);
    grant("ab", 1);
    uint64_t id = hold_of("a", 1)->id;
    struct call *end = rig_release_all("ab", 1);
    rig_send(PIPELINE);
    hold_of("a", 1)->deadline = rig.now;
    rig_integers(PIPELINE, (const int64_t[]){1, 1}, 2);
    CHECK_EQ_INT(end->status, REDLATCH_LOST);
    const struct command *release = rig_send(PIPELINE);
    CHECK(release && release->kind == COMMAND_RELEASE && release->id == id && release->count == 0);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    rig_end("b", 1);
    RIG_CLOSE();
}

/* The second release is given up, too, and takes the rest of the hold count. So the reply finds no hold. */
static void what_was_lost_and_released_meanwhile_is_given_back(void) {
    rig_open();
    grant("ab", 1);
    grant("ab", 1);
    uint64_t id = hold_of("a", 1)->id;
    struct call *first = rig_release_all("ab", 1);
    rig_send(PIPELINE);
    struct call *second = rig_release_all("ab", 1);
    rig_abort(second, REDLATCH_TIMEOUT);
    rig_abort(first, REDLATCH_TIMEOUT);
    hold_of("a", 1)->deadline = rig.now;
    struct call *again = rig_acquire_all("ab", 1);
    CHECK(hold_of("a", 1) == NULL);
    rig_integers(PIPELINE, (const int64_t[]){1, 1}, 2);
    bool released = false;
    const struct command *sent;
    while ((sent = rig_send(PIPELINE)) != NULL) {
        released = released || (sent->kind == COMMAND_RELEASE && sent->id == id && sent->count == 0);
        sent->kind == COMMAND_RELEASE ? rig_integer(PIPELINE, 1) : rig_granted(PIPELINE);
    }
    CHECK(released);
    CHECK_EQ_INT(again->status, REDLATCH_OK);
    struct call *end = rig_release_all("ab", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(end->status, REDLATCH_OK);
    RIG_CLOSE();
}

static void losses_are_reported_to_whoever_keeps_sets(void) {
    rig_open();
    grant("ab", 1);
    hold_of("a", 1)->deadline = rig.now;
    engine_hold_of(&rig.engine, rig_name("a"), rig.lock_kind, 1, rig.now);
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), 0);
    CHECK_EQ_INT(rig_losses(LOSS_SETS, NULL), 1);
    struct call *end = rig_release_all("ab", 1);
    rig_send(PIPELINE);
    rig_integers(PIPELINE, (const int64_t[]){1}, 1);
    CHECK_EQ_INT(end->status, REDLATCH_LOST);
    RIG_CLOSE();
}

static void a_release_that_is_given_up_on_goes_on(void) {
    rig_open();
    grant("ab", 1);
    struct call *end = rig_release_all("ab", 1);
    rig_send(PIPELINE);
    rig_abort(end, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(end->status, REDLATCH_NO_REPLY);
    rig_integers(PIPELINE, (const int64_t[]){1, 1}, 2);
    RIG_CLOSE();
}

static void a_refused_release_is_tried_again_and_at_last_runs_out(void) {
    rig_open();
    grant("ab", 1);
    struct call *end = rig_release_all("ab", 1);
    for (int i = 0; i < 2; i++) {
        rig_send(PIPELINE);
        rig_error(PIPELINE, "LOADING Redis is loading the dataset in memory");
        rig_pass(200 * MILLISECOND);
    }
    for (int request = 0; request < 3; request++) { /* about both names, and about each */
        CHECK(!end->done);
        rig_send(PIPELINE);
        rig_error(PIPELINE, "NOPERM this user has no permissions to run the 'evalsha' command");
    }
    CHECK_EQ_INT(end->status, REDLATCH_NO_PERMISSION);
    CHECK_EQ_INT(rig.engine.stats.held, 0);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

/* ------------------------------------------------------------------------------- names that are refused together -- */

static const char DENIED[] = "NOPERM No permissions to access a key";
static const char SEPARATED[] = "TRYAGAIN Multiple keys request during rehashing of slot";

/* Sends the next request, which must be about one name. */
static const struct command *request_of(const char *name) {
    const struct command *command = rig_send(PIPELINE);
    CHECK(command && command->kind == COMMAND_RELEASE_MANY && command->entry_end == command->entry_first + 1 &&
          command->entries->entry[command->entry_first].name == rig_name(name));
    return command;
}

/* Begins to release names that the server refuses together. */
static struct call *refused_together(const char *letters, const char *error) {
    grant(letters, 1);
    struct call *end = rig_release_all(letters, 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->entry_end, strlen(letters));
    rig_error(PIPELINE, error);
    return end;
}

static void one_forbidden_name_keeps_no_other_locked(void) {
    rig_open();
    struct call *end = refused_together("abc", DENIED);
    request_of("a");
    rig_integers(PIPELINE, (const int64_t[]){1}, 1);
    request_of("b");
    rig_error(PIPELINE, DENIED);
    CHECK(!request_of("c")->repeated);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(end->status, REDLATCH_NO_PERMISSION);
    CHECK_EQ_INT(rig.engine.stats.held, 0);
    CHECK(hold_of("a", 1) == NULL && hold_of("b", 1) == NULL && hold_of("c", 1) == NULL);
    RIG_CLOSE();
}

static void names_on_two_nodes_are_released_one_by_one(void) {
    rig_open();
    struct call *end = refused_together("ab", SEPARATED);
    for (int i = 0; i < 2; i++) { /* its keys may be on two nodes, too */
        CHECK(!request_of("a")->repeated);
        i == 0 ? rig_error(PIPELINE, SEPARATED) : rig_integer(PIPELINE, 1);
        rig_pass(100 * MILLISECOND);
    }
    request_of("b");
    rig_integer(PIPELINE, 0); /* it was lost, as nothing ran before */
    CHECK_EQ_INT(end->status, REDLATCH_LOST);
    RIG_CLOSE();
}

/* The request about all may have released some. It is sent once more first. */
static void what_may_have_been_released_together_is_no_loss(void) {
    static const char failed[] = "ERR ACL failure in script: User u has no permissions to access a key";
    rig_open();
    struct call *end = refused_together("ab", failed);
    rig_pass(100 * MILLISECOND);
    CHECK_EQ_INT(rig_send(PIPELINE)->entry_end, 2);
    rig_error(PIPELINE, failed);
    for (int i = 0; i < 2; i++) {
        CHECK(request_of(i ? "b" : "a")->repeated);
        rig_integer(PIPELINE, 0);
    }
    CHECK_EQ_INT(end->status, REDLATCH_OK);
    RIG_CLOSE();
}

/* While some counts are only lowered, the release waits until a node has all keys: if one name were lowered and another
 * one refused, no status would be right. */
static void a_partial_release_waits_for_the_migration(void) {
    rig_open();
    grant("ab", 1);
    struct call *end = refused_together("ab", SEPARATED);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_pass(100 * MILLISECOND);
    CHECK_EQ_INT(rig_send(PIPELINE)->entry_end, 2);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(end->status, REDLATCH_OK);
    CHECK(hold_of("a", 1)->count == 1 && hold_of("b", 1)->count == 1);
    release_well("ab");
    RIG_CLOSE();
}

/* Its status says that the caller does not release again. */
static void a_partial_release_that_stays_without_memory_lowers_the_counts(void) {
    rig_open();
    grant("ab", 1);
    grant("ab", 1);
    struct call *end = rig_release_all("ab", 1);
    end->operation->command->lease_ms = 1000; /* shorter than the time for which the caller waits */
    for (int i = 0; i < 20 && !end->done; i++) {
        if (rig_send(PIPELINE)) {
            rig_error(PIPELINE, "OOM command not allowed when used memory > 'maxmemory'.");
        }
        rig_pass(100 * MILLISECOND);
    }
    CHECK_EQ_INT(end->status, REDLATCH_SERVER_OUT_OF_MEMORY);
    CHECK(redlatch_status_is_retryable(end->status));
    CHECK(hold_of("a", 1)->count == 1 && hold_of("b", 1)->count == 1);
    release_well("ab");
    RIG_CLOSE();
}

/* The caller gets the error, and releases again. */
static void a_denied_partial_release_leaves_all_counts(void) {
    rig_open();
    grant("ab", 1);
    struct call *end = refused_together("ab", DENIED);
    CHECK_EQ_INT(end->status, REDLATCH_NO_PERMISSION);
    CHECK(rig_send(PIPELINE) == NULL && hold_of("a", 1)->count == 2 && hold_of("b", 1)->count == 2);
    for (int i = 0; i < 2; i++) {
        release_well("ab");
    }
    RIG_CLOSE();
}

/* The caller holds one of the names twice. */
static void a_denied_release_of_both_sorts_releases_what_it_frees(void) {
    for (int lost = 0; lost <= 1; lost++) {
        rig_open();
        rig_grant("a", 1);
        rig_grant("c", 1);
        grant("abc", 1);
        struct call *end = refused_together("abc", DENIED); /* also grants once more, so b is the only one with 2 */
        CHECK(hold_of("a", 1)->count == 3 && hold_of("b", 1)->count == 2);
        CHECK_EQ_INT(end->status, REDLATCH_NO_PERMISSION);
        end = rig_release_all("abc", 1);
        rig_send(PIPELINE);
        rig_integer(PIPELINE, 1);
        end = rig_release_all("abc", 1);
        CHECK_EQ_INT(rig_send(PIPELINE)->entry_end, 3);
        rig_error(PIPELINE, DENIED);
        request_of("b");
        rig_integer(PIPELINE, lost ? 0 : 1);
        CHECK_EQ_INT(end->status, lost ? REDLATCH_LOST : REDLATCH_NO_PERMISSION);
        CHECK(hold_of("b", 1) == NULL);
        CHECK_EQ_INT(hold_of("a", 1)->count, lost ? 1 : 2);
        CHECK_EQ_INT(hold_of("c", 1)->count, lost ? 1 : 2);
        for (int i = lost; i < 2; i++) {
            rig_end("a", 1);
            rig_end("c", 1);
        }
        RIG_CLOSE();
    }
}

/* The caller is told of the loss, so this was a release of each name. */
static void a_denied_partial_release_beside_a_loss_lowers_the_count(void) {
    rig_open();
    grant("ab", 1);
    grant("ab", 1);
    hold_of("a", 1)->deadline = rig.now;
    engine_hold_of(&rig.engine, rig_name("a"), rig.lock_kind, 1, rig.now);
    struct call *end = rig_release_all("ab", 1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, DENIED);
    CHECK_EQ_INT(end->status, REDLATCH_LOST);
    CHECK_EQ_INT(hold_of("b", 1)->count, 1);
    end = rig_release_all("ab", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(end->status, REDLATCH_LOST);
    CHECK(hold_of("a", 1) == NULL && hold_of("b", 1) == NULL);
    RIG_CLOSE();
}

/* Without memory the server lowers no count, but it releases. */
static void what_was_released_without_memory_is_no_loss(void) {
    rig_open();
    rig_grant("a", 1);
    grant("ab", 1);
    struct call *end = rig_release_all("ab", 1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "OOM command not allowed when used memory > 'maxmemory'.");
    rig_pass(100 * MILLISECOND);
    CHECK(rig_send(PIPELINE)->repeated);
    rig_integers(PIPELINE, (const int64_t[]){1, 0}, 2);
    CHECK_EQ_INT(end->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void requests_for_each_name_go_on_after_the_caller_gave_up(void) {
    rig_open();
    struct call *end = refused_together("ab", SEPARATED);
    request_of("a");
    rig_abort(end, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(end->status, REDLATCH_NO_REPLY);
    rig_integer(PIPELINE, 1);
    request_of("b");
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(request_of("b")->repeated);
    rig_integer(PIPELINE, 0);
    CHECK(rig_send(PIPELINE) == NULL && hold_of("a", 1) == NULL && hold_of("b", 1) == NULL);
    RIG_CLOSE();
}

/* Where KILL is denied, an undo is repeated for one lease: all names together, as the slot may have arrived. */
static void an_undo_is_divided_and_repeated(void) {
    rig_open();
    struct call *call = rig_acquire_all("ab", 1);
    rig_send(PIPELINE);
    rig_abort(call, REDLATCH_CANCELLED);
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    for (int i = 0; i < 2; i++) {
        const struct command *undo = rig_send(PIPELINE);
        CHECK(undo && undo->kind == COMMAND_RELEASE_MANY && undo->entry_first == 0 && undo->entry_end == 2);
        rig_error(PIPELINE, SEPARATED);
        request_of("a");
        rig_integer(PIPELINE, 0);
        request_of("b");
        rig_integer(PIPELINE, 0);
        CHECK(rig_send(PIPELINE) == NULL);
        rig_pass(SECOND);
    }
    while (rig_send(PIPELINE)) {
        rig_integer(PIPELINE, 0);
        rig_pass(SECOND);
    }
    RIG_CLOSE();
}

/* ----------------------------------------------------------------------------------------------------------------- */

static void holds_that_are_collected_late_are_each_given_back(void) {
    rig_open();
    struct call *call = rig_set_call(OPERATION_ACQUIRE, "ab", 1);
    call->operation->asynchronous = true;
    call->operation->named_owner = true;
    rig_start(call);
    rig_send(PIPELINE);
    rig_granted(PIPELINE);
    CHECK(call->done && call->operation->granted);
    rig_pass(RIG_CLAIM_MS * MILLISECOND);
    CHECK_EQ_INT(call->operation->status, REDLATCH_UNCLAIMED);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
        rig_integer(PIPELINE, 1);
    }
    rig_claim(call);
    RIG_CLOSE();
}

/* One name is lost, the other is busy. Both are given back in the background, so that the owner can acquire them
 * anew. */
static void a_lost_name_of_a_release_that_is_given_up_on_is_forgotten(void) {
    rig_open();
    grant("ab", 1);
    hold_of("a", 1)->deadline = rig.now;
    struct call *extension = rig_extend("b", 1, 60000);
    rig_send(PIPELINE);
    struct call *end = rig_release_all("ab", 1);
    rig_abort(end, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(end->status, REDLATCH_UNREACHABLE);
    CHECK(hold_of("a", 1) == NULL);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(extension->status, REDLATCH_OK);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
    rig_integer(PIPELINE, 1);
    CHECK(hold_of("b", 1) == NULL);
    rig_losses(LOSS_SETS, NULL);
    RIG_CLOSE();
}

/* The owner acquires two names, has one of them already, and loses it meanwhile. The server refuses the undo. */
static void a_refused_undo_leaves_a_loss_to_be_reported(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    struct call *call = rig_acquire_all("ab", 1);
    rig_send(PIPELINE);
    hold->deadline = rig.now;
    engine_hold_of(&rig.engine, rig_name("a"), rig.lock_kind, 1, rig.now);
    rig_abort(call, REDLATCH_CANCELLED);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE_MANY);
    rig_error(PIPELINE, "ERR unknown command 'EVALSHA'");
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE_MANY);
        rig_error(PIPELINE, "ERR unknown command 'EVALSHA'");
    }
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    CHECK(hold_of("a", 1) == NULL);
    RIG_CLOSE();
}

int main(void) {
    RUN(nothing_held_is_not_owned);
    RUN(one_number_is_the_answer_for_each);
    RUN(a_loss_of_one_is_reported_and_the_others_are_given_back);
    RUN(what_was_lost_meanwhile_is_given_back);
    RUN(what_was_lost_and_released_meanwhile_is_given_back);
    RUN(losses_are_reported_to_whoever_keeps_sets);
    RUN(a_release_that_is_given_up_on_goes_on);
    RUN(a_refused_release_is_tried_again_and_at_last_runs_out);
    RUN(one_forbidden_name_keeps_no_other_locked);
    RUN(names_on_two_nodes_are_released_one_by_one);
    RUN(what_may_have_been_released_together_is_no_loss);
    RUN(a_partial_release_waits_for_the_migration);
    RUN(a_partial_release_that_stays_without_memory_lowers_the_counts);
    RUN(a_denied_partial_release_leaves_all_counts);
    RUN(a_denied_release_of_both_sorts_releases_what_it_frees);
    RUN(a_denied_partial_release_beside_a_loss_lowers_the_count);
    RUN(what_was_released_without_memory_is_no_loss);
    RUN(requests_for_each_name_go_on_after_the_caller_gave_up);
    RUN(an_undo_is_divided_and_repeated);
    RUN(holds_that_are_collected_late_are_each_given_back);
    RUN(a_lost_name_of_a_release_that_is_given_up_on_is_forgotten);
    RUN(a_refused_undo_leaves_a_loss_to_be_reported);
    return unit_done();
}
