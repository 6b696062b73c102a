/* The watchdog: batches, their order, and what becomes of entries whose hold, reply or connection is gone.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"
#include "lease.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;
static const enum pipeline_role BACKGROUND = PIPELINE_BACKGROUND;

/* Grants the names "1" to "count", each `apart` microseconds after the one before. */
static void grants(int count, int64_t apart) {
    char name[16];
    for (int i = 1; i <= count; i++) {
        snprintf(name, sizeof name, "%d", i);
        rig_grant(name, 1);
        rig_pass(apart);
    }
}

static void ends(int count) {
    char name[16];
    for (int i = 1; i <= count; i++) {
        snprintf(name, sizeof name, "%d", i);
        rig_end(name, 1);
    }
}

/* Answers a batch: every entry had this many ms left. */
static void answer_all(const struct command *command, int64_t left_ms) {
    int64_t before[RENEWAL_BATCH_SIZE];
    for (uint32_t i = 0; i < command->batch_count; i++) {
        before[i] = left_ms;
    }
    rig_integers(BACKGROUND, before, command->batch_count);
}

static void a_hold_is_renewed_after_a_third_from_when_it_was_sent(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    rig_pass(10 * SECOND - 1);
    CHECK(rig_send(BACKGROUND) == NULL);
    rig_pass(1);
    struct command *command = rig_send(BACKGROUND);
    CHECK_EQ_INT(command->kind, COMMAND_RENEW);
    CHECK_EQ_INT(command->batch_count, 1);
    CHECK(command->batch[0].id == hold->id && command->batch[0].lease_ms == RIG_LEASE_MS);
    int64_t sent_at = rig.now;
    rig_pass(SECOND);
    answer_all(command, 20000);
    CHECK_EQ_INT(hold->deadline, lease_deadline(sent_at, RIG_LEASE_MS));
    CHECK_EQ_INT(hold->renew_at, sent_at + 10 * SECOND);
    CHECK_EQ_INT(rig.engine.stats.renewals, 1);
    CHECK_EQ_INT(rig.engine.stats.late_renewals, 0);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_batch_takes_a_hundred_in_order_of_time(void) {
    rig_open();
    grants(120, 100); /* all within a hundredth of the lease: renewed together */
    rig_pass(10 * SECOND - 120 * 100);
    struct command *first = rig_send(BACKGROUND);
    struct command *second = rig_send(BACKGROUND);
    CHECK_EQ_INT(first->batch_count, RENEWAL_BATCH_SIZE);
    rig_pass(120 * 100);
    second = second ? second : rig_send(BACKGROUND);
    CHECK_EQ_INT(second->batch_count, 20);
    for (uint32_t i = 1; i < first->batch_count; i++) {
        CHECK(first->batch[i - 1].id < first->batch[i].id);
    }
    CHECK(first->batch[RENEWAL_BATCH_SIZE - 1].id < second->batch[0].id);
    answer_all(first, 20000);
    answer_all(second, 20000);
    CHECK_EQ_INT(rig.engine.stats.renewals, 120);
    ends(120);
    RIG_CLOSE();
}

/* The work of a script for a group lock grows with its values, so a batch takes a bounded number of values. */
static void a_batch_takes_so_many_values_of_groups(void) {
    rig_open();
    rig.lock_kind = REDLATCH_GROUP;
    static const uint32_t values[] = {400, 600, 1, 10000, 300};
    static const uint32_t lines[] = {2, 1, 1, 1};
    static const char *const names[] = {"1", "2", "3", "4", "5"};
    struct resource *groups[5];
    for (int i = 0; i < 5; i++) {
        groups[i] = rig_grant(names[i], 1)->resource;
        groups[i]->value_count = values[i];
        rig_pass(100);
    }
    rig_pass(10 * SECOND);
    for (int i = 0; i < 4; i++) {
        struct command *command = rig_send(BACKGROUND);
        CHECK(command != NULL);
        if (command) {
            CHECK_EQ_INT(command->batch_count, lines[i]);
            answer_all(command, 20000);
        }
    }
    CHECK(rig_send(BACKGROUND) == NULL);
    CHECK_EQ_INT(rig.engine.stats.renewals, 5);
    for (int i = 0; i < 5; i++) {
        groups[i]->value_count = 0;
    }
    ends(5);
    RIG_CLOSE();
}

static void holds_far_apart_are_renewed_apart(void) {
    rig_open();
    grants(2, SECOND);
    rig_pass(8 * SECOND);
    struct command *command = rig_send(BACKGROUND);
    CHECK_EQ_INT(command->batch_count, 1);
    answer_all(command, 20000);
    rig_pass(SECOND);
    command = rig_send(BACKGROUND);
    CHECK_EQ_INT(command->batch_count, 1);
    answer_all(command, 20000);
    ends(2);
    RIG_CLOSE();
}

static void a_released_hold_strikes_its_line(void) {
    rig_open();
    grants(2, 0);
    rig_pass(10 * SECOND);
    struct command *command = rig_send(BACKGROUND);
    CHECK_EQ_INT(command->batch_count, 2);
    rig_end("1", 1);
    const int64_t before[] = {-2, 20000}; /* the first was released: no loss */
    rig_integers(BACKGROUND, before, 2);
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), 0);
    CHECK_EQ_INT(rig.engine.stats.renewals, 1);
    rig_end("2", 1);
    RIG_CLOSE();
}

static void a_line_that_finds_nothing_is_a_loss(void) {
    rig_open();
    grants(2, 0);
    rig_pass(10 * SECOND);
    rig_send(BACKGROUND);
    const int64_t before[] = {20000, -2};
    rig_integers(BACKGROUND, before, 2);
    int reason = 0;
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, &reason), 1);
    CHECK_EQ_INT(reason, REDLATCH_REASON_MISSING);
    CHECK_EQ_INT(rig_release("2", 1)->status, REDLATCH_LOST);
    rig_end("1", 1);
    RIG_CLOSE();
}

static void a_refused_batch_is_sent_again_until_the_deadline(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    rig_pass(10 * SECOND);
    int batches = 0;
    while (hold->stage == HOLD_ALIVE) {
        if (rig_send(BACKGROUND)) {
            rig_error(BACKGROUND, "LOADING Redis is loading the dataset in memory");
            batches++;
        }
        rig_pass(10 * MILLISECOND);
    }
    CHECK(batches > 190 && batches < 200); /* every 100 ms for two thirds of the lease */
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    rig_drain_background();
    RIG_CLOSE();
}

static void an_answer_of_another_length_is_no_answer(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    rig_pass(10 * SECOND);
    rig_send(BACKGROUND);
    const int64_t before[] = {20000, 20000};
    rig_integers(BACKGROUND, before, 2);
    CHECK_EQ_INT(hold->confirmed_at, rig.now - 10 * SECOND);
    CHECK_EQ_INT(hold->renew_at, rig.now + 100 * MILLISECOND);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_lost_batch_is_followed_by_another(void) {
    rig_open();
    grants(2, 0);
    rig_pass(10 * SECOND);
    rig_send(BACKGROUND);
    rig_lost(BACKGROUND);
    rig_end("1", 1);
    rig_ready(BACKGROUND, RESOLVED_BY_KILL);
    rig_pass(0);
    struct command *command = rig_send(BACKGROUND);
    CHECK_EQ_INT(command->batch_count, 1);
    answer_all(command, 20000);
    rig_end("2", 1);
    RIG_CLOSE();
}

static void a_renewal_answered_after_the_deadline_does_not_bring_the_hold_back(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    rig_pass(10 * SECOND);
    struct command *command = rig_send(BACKGROUND);
    rig.now += 25 * SECOND; /* the timer of the deadline did not fire yet */
    CHECK_EQ_INT(hold_state_at(hold, rig.now), REDLATCH_GONE);
    answer_all(command, 20000);
    CHECK_EQ_INT(hold_state_at(hold, rig.now), REDLATCH_GONE);
    int reason = 0;
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, &reason), 1);
    CHECK_EQ_INT(reason, REDLATCH_REASON_EXPIRED);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    command = rig_send(PIPELINE); /* the hold that was renewed too late is released */
    CHECK(command && command->kind == COMMAND_RELEASE && command->count == 0);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void what_was_renewed_after_the_hold_expired_is_released(void) {
    rig_open();
    uint64_t id = rig_grant("a", 1)->id;
    rig_pass(10 * SECOND);
    struct command *renewal = rig_send(BACKGROUND);
    rig_pass(25 * SECOND);
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), 1);
    CHECK(rig_send(PIPELINE) == NULL);
    answer_all(renewal, 20000);
    struct command *release = rig_send(PIPELINE);
    CHECK(release && release->kind == COMMAND_RELEASE && release->id == id && release->count == 0);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(rig.engine.stats.compensations, 1);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    RIG_CLOSE();
}

static void a_whole_batch_is_released(bool timers_fire) {
    rig_open();
    grants(RENEWAL_BATCH_SIZE, 10);
    rig_pass(10 * SECOND);
    struct command *renewal = rig_send(BACKGROUND);
    CHECK_EQ_INT(renewal->batch_count, RENEWAL_BATCH_SIZE);
    if (timers_fire) {
        rig_pass(25 * SECOND);
    } else {
        rig.now += 25 * SECOND;
    }
    answer_all(renewal, 20000);
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), RENEWAL_BATCH_SIZE);
    int released = 0;
    for (int round = 0; round < 3; round++) { /* the pool has too few commands for all at once */
        while (rig_send(PIPELINE)) {
            released++;
            rig_integer(PIPELINE, 1);
        }
        rig_supply();
        rig_pass(99 * MILLISECOND);
        CHECK(rig_send(BACKGROUND) == NULL);
        rig_pass(MILLISECOND);
        struct command *again = rig_send(BACKGROUND);
        if (again) {
            CHECK_EQ_INT(again->batch[0].lease_ms, 0);
            answer_all(again, 20000);
        }
    }
    CHECK_EQ_INT(released, RENEWAL_BATCH_SIZE);
    CHECK_EQ_INT(rig.engine.expired_entries, 0);
    for (int i = 1; i <= RENEWAL_BATCH_SIZE; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        CHECK_EQ_INT(rig_release(name, 1)->status, REDLATCH_LOST);
    }
    RIG_CLOSE();
}

static void a_whole_batch_that_expired_is_released(void) {
    a_whole_batch_is_released(true);
    a_whole_batch_is_released(false); /* the answer came before the timers were run */
}

static void an_expired_line_of_a_lost_batch_is_released(void) {
    rig_open();
    uint64_t id = rig_grant("a", 1)->id;
    rig_pass(10 * SECOND);
    rig_send(BACKGROUND);
    rig_pass(25 * SECOND);
    rig_lost(BACKGROUND);
    rig_ready(BACKGROUND, RESOLVED_BY_KILL);
    struct command *release = rig_send(PIPELINE);
    CHECK(release && release->kind == COMMAND_RELEASE && release->id == id && release->count == 0);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), 1);
    rig_release("a", 1);
    RIG_CLOSE();
}

static void what_an_ended_owner_left_runs_out(void) {
    rig_open();
    rig_grant("a", 1);
    rig_pass(10 * SECOND);
    struct command *renewal = rig_send(BACKGROUND);
    engine_owner_end(&rig.engine, 1, rig.now);
    answer_all(renewal, 20000);
    CHECK(rig_send(PIPELINE) == NULL);
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), 1);
    RIG_CLOSE();
}

static void a_bound_on_the_hold_ends_renewal(void) {
    rig_open();
    struct call *call = rig_call(OPERATION_ACQUIRE, "a", 1);
    call->operation->max_hold_ms = 40000;
    rig_start(call);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    struct hold *hold = call->hold;
    int64_t end = hold->max_hold_at;
    while (hold->stage == HOLD_ALIVE) {
        struct command *command = rig_send(BACKGROUND);
        if (command) {
            CHECK(rig.now + command->batch[0].lease_ms * MILLISECOND <= end);
            answer_all(command, 1000);
        }
        rig_pass(MILLISECOND);
    }
    int reason = 0;
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, &reason), 1);
    CHECK_EQ_INT(reason, REDLATCH_REASON_MAX_HOLD);
    CHECK(rig.now <= end && rig.now > end - SECOND);
    rig_release("a", 1);
    rig_drain_background();
    RIG_CLOSE();
}

static void after_a_restart_every_hold_is_verified(void) {
    rig_open();
    rig_grant("a", 1);
    struct hold *fixed = rig_grant_for("b", 1, 60000);
    int64_t deadline = fixed->deadline;
    rig_grant_for("c", 1, 60000);
    rig_pass(SECOND);
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLVED_BY_RESTART);
    rig_ready(PIPELINE_HOST, RESOLVED_BY_RESTART); /* each connection reports the restart */
    rig_pass(0);
    struct command *command = rig_send(BACKGROUND);
    CHECK_EQ_INT(command->batch_count, 3);
    int64_t before[3];
    for (uint32_t i = 0; i < 3; i++) {
        const struct renewal *line = &command->batch[i];
        /* A hold with a fixed lease is only queried. */
        CHECK_EQ_INT(line->lease_ms, line->name->name[0] == 'a' ? RIG_LEASE_MS : 0);
        before[i] = line->name->name[0] == 'c' ? -2 : 30000;
    }
    rig_integers(BACKGROUND, before, 3);
    CHECK_EQ_INT(fixed->deadline, deadline);
    CHECK_EQ_INT(fixed->renew_at, NEVER);
    CHECK_EQ_INT(rig_release("c", 1)->status, REDLATCH_LOST);
    rig_end("a", 1);
    rig_end("b", 1);
    RIG_CLOSE();
}

/* No command was in flight when the connection ended, and nothing shows that the server is another one. */
static void when_a_connection_ends_every_hold_is_verified(void) {
    rig_open();
    struct hold *renewed = rig_grant("a", 1);
    struct hold *fixed = rig_grant_for("b", 1, 60000);
    rig_pass(SECOND);
    rig_lost(PIPELINE);
    rig_pass(0);
    struct command *command = rig_send(BACKGROUND);
    CHECK(command && command->batch_count == 2);
    CHECK(renewed->batch == command && fixed->batch == command);
    CHECK_EQ_INT(command->batch[fixed->batch_entry].lease_ms, 0);
    int64_t before[2] = {-2, -2};
    rig_integers(BACKGROUND, before, 2);
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), 2);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    CHECK_EQ_INT(rig_release("b", 1)->status, REDLATCH_LOST);
    RIG_CLOSE();
}

/* The batch waits until the server is back. It is not sent as a repeat then. */
static void a_query_waits_for_the_server(void) {
    rig_open();
    rig_grant_for("b", 1, 60000);
    rig_lost(BACKGROUND);
    rig_pass(0);
    CHECK(!list_is_empty(&rig.engine.server->pipelines[BACKGROUND].unsent));
    rig_failed(BACKGROUND, REDLATCH_UNREACHABLE);
    rig_pass(SECOND);
    rig_ready(BACKGROUND, RESOLUTION_DENIED);
    struct command *command = rig_send(BACKGROUND);
    CHECK(command && !command->repeated && command->batch_count == 1);
    int64_t gone = -2;
    rig_integers(BACKGROUND, &gone, 1);
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), 1);
    rig_release("b", 1);
    RIG_CLOSE();
}

static void connections_that_end_all_the_time_are_not_verified_each_time(void) {
    rig_open();
    rig_grant_for("b", 1, 60000);
    int batches = 0;
    for (int i = 0; i < 30; i++) { /* for a whole lease */
        rig_lost(BACKGROUND);
        rig_pass(0);
        rig_ready(BACKGROUND, RESOLVED_BY_KILL);
        struct command *command = rig_send(BACKGROUND);
        if (command) {
            answer_all(command, 30000);
            batches++;
        }
        rig_pass(SECOND);
    }
    CHECK(batches >= 8 && batches <= 11);
    rig_end("b", 1);
    rig_drain_background();
    RIG_CLOSE();
}

static void after_a_restart_an_extension_speaks_for_its_hold(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    rig_extend("a", 1, 5000);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLVED_BY_RESTART);
    rig_pass(0);
    CHECK(rig_send(BACKGROUND) == NULL);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(hold->stage, HOLD_GONE);
    rig_release("a", 1);
    RIG_CLOSE();
}

/* While a hold moves to a new number, the server may not have the old one any more, so the hold is not queried. */
static void after_a_restart_a_move_speaks_for_its_hold(void) {
    rig_open();
    struct hold *hold = rig_grant("a", 1);
    rig_extend("a", 1, 5000);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_MOVE);
    rig_ready(PIPELINE_HOST, RESOLVED_BY_RESTART);
    rig_pass(0);
    CHECK(rig_send(BACKGROUND) == NULL);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(hold->stage, HOLD_ALIVE);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void without_memory_it_tries_again_in_a_moment(void) {
    rig_open();
    struct list kept;
    list_init(&kept);
    rig_grant("a", 1);
    struct list_link *link;
    while ((link = list_pop(&rig.engine.batch_pool)) != NULL) {
        list_append(&kept, link);
    }
    rig_pass(10 * SECOND + 5 * MILLISECOND);
    CHECK(rig_send(BACKGROUND) == NULL);
    while ((link = list_pop(&kept)) != NULL) {
        list_append(&rig.engine.batch_pool, link);
    }
    rig_pass(MILLISECOND);
    struct command *command = rig_send(BACKGROUND);
    CHECK_EQ_INT(command->batch_count, 1);
    answer_all(command, 20000);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_batch_goes_as_text_to_a_server_without_the_script(void) {
    rig_open();
    rig_grant("a", 1);
    rig_pass(10 * SECOND);
    struct command *command = rig_send(BACKGROUND);
    rig_error(BACKGROUND, "NOSCRIPT No matching script.");
    CHECK(rig_send(BACKGROUND) == command && command->as_text);
    answer_all(command, 20000);
    CHECK_EQ_INT(rig.engine.stats.renewals, 1);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* An extension may not have been replicated to the server that is the master now. */
static void after_a_move_a_hold_is_believed_as_the_new_server_says(void) {
    rig_open();
    struct hold *fixed = rig_grant_for("a", 1, 4000);
    struct hold *renewed = rig_grant("b", 2);
    rig_acquire_for("a", 1, 3000);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    renewed->deadline += 10 * SECOND; /* as after an extension */
    rig_pass(SECOND);
    engine_server_changed(&rig.engine, rig.engine.server, rig.now);
    rig_turn();
    rig_pass(0);
    int64_t sent_at = rig.now;
    const struct command *command = rig_send(BACKGROUND);
    CHECK_EQ_INT(command->batch_count, 2);
    rig_integers(BACKGROUND, (const int64_t[]){500, 500}, 2);
    struct hold *holds[] = {fixed, renewed};
    static const int64_t leases[] = {500, RIG_LEASE_MS};
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_INT(holds[i]->deadline, lease_deadline(sent_at, leases[i]));
    }
    rig_release("a", 1); /* lowers the hold count; the lease is as before */
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(fixed->deadline, lease_deadline(sent_at, leases[0]));
    rig_pass(500 * MILLISECOND);
    CHECK_EQ_INT(fixed->stage, HOLD_GONE);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    rig_losses(LOSS_EVENTS, &(int){0});
    rig_losses(LOSS_THREADS, &(int){0});
    rig_end("b", 2);
    RIG_CLOSE();
}

int main(void) {
    RUN(a_hold_is_renewed_after_a_third_from_when_it_was_sent);
    RUN(a_batch_takes_a_hundred_in_order_of_time);
    RUN(a_batch_takes_so_many_values_of_groups);
    RUN(holds_far_apart_are_renewed_apart);
    RUN(a_released_hold_strikes_its_line);
    RUN(a_line_that_finds_nothing_is_a_loss);
    RUN(a_refused_batch_is_sent_again_until_the_deadline);
    RUN(an_answer_of_another_length_is_no_answer);
    RUN(a_lost_batch_is_followed_by_another);
    RUN(a_renewal_answered_after_the_deadline_does_not_bring_the_hold_back);
    RUN(what_was_renewed_after_the_hold_expired_is_released);
    RUN(a_whole_batch_that_expired_is_released);
    RUN(an_expired_line_of_a_lost_batch_is_released);
    RUN(what_an_ended_owner_left_runs_out);
    RUN(a_bound_on_the_hold_ends_renewal);
    RUN(after_a_restart_every_hold_is_verified);
    RUN(when_a_connection_ends_every_hold_is_verified);
    RUN(after_a_move_a_hold_is_believed_as_the_new_server_says);
    RUN(a_query_waits_for_the_server);
    RUN(connections_that_end_all_the_time_are_not_verified_each_time);
    RUN(after_a_restart_an_extension_speaks_for_its_hold);
    RUN(after_a_restart_a_move_speaks_for_its_hold);
    RUN(without_memory_it_tries_again_in_a_moment);
    RUN(a_batch_goes_as_text_to_a_server_without_the_script);
    return unit_done();
}
