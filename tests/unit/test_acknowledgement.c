/* Grants that replicas must acknowledge: which commands are followed by WAIT, and what becomes of a grant without
 * enough acknowledgements.
 * SPDX-License-Identifier: Apache-2.0 */
#include "acknowledgement.h"

#include "acknowledgement_fixture.h"

/* Returns the hold that an acquire with enough acknowledgements makes. */
static struct hold *hold_of(uint64_t owner) {
    struct call *call = rig_acquire("a", owner);
    CHECK(rig_send(PIPELINE)->needs_acknowledgement);
    CHECK_EQ_INT(engine_acknowledgements_follow(&rig.engine, engine_pipeline(&rig.engine, PIPELINE)), 1);
    grant(2);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    return call->hold;
}

/* Checks that the next command on the pipeline gives the grant back. */
static void check_given_back(uint64_t id, uint32_t count) {
    struct command *command = rig_send(PIPELINE);
    CHECK_EQ_INT(command->kind, COMMAND_RELEASE);
    CHECK_EQ_INT(command->count, count);
    CHECK(command->id == id);
    CHECK(!command->needs_acknowledgement);
    rig_integer(PIPELINE, 1);
}

static void enough_replicas(void) {
    open_rig();
    hold_of(1);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* If the server does not know the script, EVALSHA fails, and a WAIT behind it would block in vain. */
static void an_unknown_script_goes_as_text(void) {
    open_rig();
    rig_try("a", 1);
    CHECK(rig_send(PIPELINE)->as_text);
    grant(2);
    rig_end("a", 1);
    rig_try("a", 1);
    CHECK(!rig_send(PIPELINE)->as_text);
    grant(2);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void too_few_end_a_try(void) {
    open_rig();
    struct call *call = rig_try("a", 1);
    uint64_t id = rig_send(PIPELINE)->id;
    grant(1);
    CHECK(call->done);
    CHECK_EQ_INT(call->status, REDLATCH_NOT_REPLICATED);
    CHECK(call->hold == NULL);
    check_given_back(id, 0);
    RIG_CLOSE();
}

static void a_waiter_asks_again_under_a_new_number(void) {
    open_rig();
    struct call *call = rig_acquire("a", 1);
    uint64_t id = rig_send(PIPELINE)->id;
    grant(0);
    CHECK(!call->done);
    check_given_back(id, 0);
    rig_pass(SECOND);
    struct command *again = rig_send(PIPELINE);
    CHECK(again->kind == COMMAND_ACQUIRE && again->id != id);
    grant(2);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* There is always a command to give a grant back with, however often the waiter requests and whatever other calls need
 * meanwhile. */
static void a_waiter_gives_back_what_each_request_took(void) {
    open_rig();
    struct call *call = rig_acquire("a", 1);
    struct call *others[8];
    for (uint64_t i = 0; i < 8; i++) {
        uint64_t id = rig_send(PIPELINE)->id;
        grant(0);
        check_given_back(id, 0);
        others[i] = rig_acquire("b", 10 + i);
        if (i == 0) {
            rig_park(RIG_LEASE_MS);
        }
        rig_pass(300 * MILLISECOND);
    }
    uint64_t id = rig_send(PIPELINE)->id;
    CHECK(!call->done);
    rig_abort(call, REDLATCH_CANCELLED);
    grant(0);
    check_given_back(id, 0);
    for (int i = 0; i < 8; i++) {
        rig_abort(others[7 - i], REDLATCH_CANCELLED);
    }
    rig_drain_background();
    RIG_CLOSE();
}

static void a_contended_reply_is_not_kept(void) {
    open_rig();
    struct call *call = rig_try("a", 1);
    rig_send(PIPELINE);
    const struct reply held = {.kind = REPLY_INTEGER, .integer = 3000};
    CHECK(!engine_keeps_reply(engine_pipeline(&rig.engine, PIPELINE), &held));
    CHECK_EQ_INT(engine_acknowledgements_follow(&rig.engine, engine_pipeline(&rig.engine, PIPELINE)), 1);
    rig_reply(PIPELINE, &held);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

static void a_reentry_is_taken_back(void) {
    open_rig();
    struct hold *hold = hold_of(1);
    struct call *call = rig_acquire("a", 1);
    CHECK(rig_send(PIPELINE)->needs_acknowledgement);
    confirm(1);
    CHECK_EQ_INT(call->status, REDLATCH_NOT_REPLICATED);
    CHECK_EQ_INT(hold->count, 1);
    check_given_back(hold->id, 1);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* A repeat on a new connection may write nothing, so that WAIT would answer at once. */
static void a_lost_reply_is_not_repeated(void) {
    open_rig();
    struct call *call = rig_acquire("a", 1);
    uint64_t id = rig_send(PIPELINE)->id;
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    check_given_back(id, 0);
    CHECK(rig_send(PIPELINE)->id != id);
    grant(2);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* A re-entry writes in any case, so WAIT counts the repeat. */
static void a_reentry_is_repeated(void) {
    open_rig();
    struct hold *hold = hold_of(1);
    for (int64_t replicas = 1; replicas <= 2; replicas++) {
        struct call *call = rig_acquire("a", 1);
        rig_send(PIPELINE);
        rig_lost(PIPELINE);
        rig_ready(PIPELINE, RESOLVED_BY_KILL);
        struct command *again = rig_send(PIPELINE);
        CHECK(again->kind == COMMAND_REENTER && again->count == 2 && again->needs_acknowledgement);
        confirm(replicas);
        CHECK_EQ_INT(call->status, replicas == 2 ? REDLATCH_OK : REDLATCH_NOT_REPLICATED);
        if (replicas < 2) {
            check_given_back(hold->id, 1);
        }
    }
    rig_drain_background();
    rig_end("a", 1);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void renew(int64_t left_ms, int64_t replicas) {
    const struct reply left = {.kind = REPLY_INTEGER, .integer = left_ms};
    CHECK(rig_send(PIPELINE_BACKGROUND)->needs_acknowledgement);
    rig_acknowledged(PIPELINE_BACKGROUND, (struct reply){.kind = REPLY_ARRAY, .elements = &left, .count = 1}, replicas);
}

static void check_renewals_count_when_acknowledged(uint8_t lock_kind) {
    open_rig();
    rig.lock_kind = lock_kind;
    struct hold *hold = hold_of(1);
    int64_t deadline = hold->deadline;
    rig_pass(RIG_LEASE_MS * MILLISECOND / 3);
    renew(20000, 1);
    CHECK(hold->deadline == deadline);
    rig_pass(100 * MILLISECOND);
    renew(RIG_LEASE_MS, 2); /* the lease was as long already: nothing was written */
    CHECK(hold->deadline == deadline);
    rig_pass(RIG_LEASE_MS * MILLISECOND / 3);
    renew(10000, 2);
    CHECK(hold->deadline > deadline);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_renewal_counts_when_acknowledged(void) {
    check_renewals_count_when_acknowledged(REDLATCH_MUTEX);
    check_renewals_count_when_acknowledged(REDLATCH_READ); /* the reply has its own lease, not that of all readers */
}

static void a_hold_that_is_gone_is_lost_without_acknowledgement(void) {
    open_rig();
    struct hold *hold = hold_of(1);
    rig_pass(RIG_LEASE_MS * MILLISECOND / 3);
    renew(-2, 0);
    CHECK_EQ_INT(hold->stage, HOLD_GONE);
    CHECK_EQ_INT(hold->reason, REDLATCH_REASON_MISSING);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    rig_losses(LOSS_EVENTS, &(int){0});
    rig_losses(LOSS_THREADS, &(int){0});
    RIG_CLOSE();
}

static void an_extension_is_not_believed(void) {
    open_rig();
    struct hold *hold = hold_of(1);
    int64_t deadline = hold->deadline;
    struct call *call = rig_extend("a", 1, 10 * RIG_LEASE_MS);
    rig_send(PIPELINE);
    confirm(0);
    CHECK_EQ_INT(call->status, REDLATCH_NOT_REPLICATED);
    CHECK(hold->deadline == deadline);
    rig_drain_background();
    rig_end("a", 1);
    RIG_CLOSE();
}

/* A hand-over would need WAIT, which would delay the release. */
static void nothing_is_handed_over(void) {
    open_rig();
    hold_of(1);
    struct call *waiter = rig_acquire("a", 2);
    rig_park(RIG_LEASE_MS);
    struct call *release = rig_release("a", 1);
    struct command *command = rig_send(PIPELINE);
    CHECK_EQ_INT(command->kind, COMMAND_RELEASE);
    CHECK(!command->needs_acknowledgement);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    rig_pass(SECOND);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE);
    grant(2);
    CHECK_EQ_INT(waiter->status, REDLATCH_OK);
    rig_end("a", 2);
    RIG_CLOSE();
}

static void a_fair_waiter_leaves_its_place(void) {
    open_rig();
    rig.lock_kind = REDLATCH_FAIR;
    struct call *call = rig_acquire("a", 1);
    uint64_t id = rig_send(PIPELINE)->id;
    grant(1);
    struct command *left = rig_send(PIPELINE);
    CHECK(left->kind == COMMAND_RELEASE && left->id == id && left->leaves);
    rig_integer(PIPELINE, 1);
    rig_pass(SECOND);
    struct command *again = rig_send(PIPELINE);
    CHECK(again->kind == COMMAND_ACQUIRE && again->id != id && again->position == POSITION_WANTED);
    grant(2);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_set_is_given_back(void) {
    open_rig();
    const struct reply zero = {.kind = REPLY_INTEGER};
    struct call *call = rig_acquire_all("ab", 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE_MANY);
    rig_acknowledged(PIPELINE, (struct reply){.kind = REPLY_ARRAY, .elements = &zero, .count = 1}, 1);
    CHECK(!call->done);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE_MANY);
    rig_integers(PIPELINE, (const int64_t[]){1, 1}, 2);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_NOT_REPLICATED);
    RIG_CLOSE();
}

/* Breaks the connection. What was in doubt is given back and requested anew. */
static void break_connection(void) {
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
}

static void a_set_in_doubt(void) {
    open_rig();
    const struct reply zero = {.kind = REPLY_INTEGER};
    struct call *call = rig_acquire_all("ab", 1);
    rig_send(PIPELINE);
    break_connection();
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE_MANY);
    rig_integers(PIPELINE, (const int64_t[]){1, 1}, 2);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE_MANY);
    rig_acknowledged(PIPELINE, (struct reply){.kind = REPLY_ARRAY, .elements = &zero, .count = 1}, 2);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_release_all("ab", 1);
    rig_send(PIPELINE);
    rig_integers(PIPELINE, (const int64_t[]){1, 1}, 2);
    RIG_CLOSE();
}

static void a_position_in_doubt(void) {
    open_rig();
    rig.lock_kind = REDLATCH_FAIR;
    struct reply elements[2] = {{.kind = REPLY_INTEGER, .integer = 30000}, {.kind = REPLY_STRING, .text = ""}};
    const struct reply queued = {.kind = REPLY_ARRAY, .elements = elements, .count = 2};
    struct call *first = rig_acquire("a", 1);
    struct call *second = rig_acquire("a", 2);
    uint64_t id = rig_send(PIPELINE)->id;
    rig_reply(PIPELINE, &queued);
    rig_send(PIPELINE);
    rig_reply(PIPELINE, &queued);
    rig_pass(11 * SECOND); /* the foremost rechecks */
    CHECK(rig_send(PIPELINE)->id == id);
    break_connection();
    struct command *left = rig_send(PIPELINE);
    CHECK(left->kind == COMMAND_RELEASE && left->leaves && left->id == id);
    rig_integer(PIPELINE, 1);
    struct command *next = rig_send(PIPELINE); /* of the waiter that is foremost now */
    CHECK(next->position == POSITION_TAKEN);
    grant(2);
    CHECK_EQ_INT(second->status, REDLATCH_OK);
    CHECK(rig_send(PIPELINE)->position == POSITION_WANTED);
    rig_reply(PIPELINE, &queued);
    CHECK(!first->done);
    rig_abort(first, REDLATCH_CANCELLED);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    rig_end("a", 2);
    rig_drain_background();
    RIG_CLOSE();
}

static void permits_in_doubt(void) {
    open_rig();
    rig.lock_kind = REDLATCH_SEMAPHORE;
    struct call *call = rig_call(OPERATION_ACQUIRE, "s", 0);
    call->operation->amount = 2;
    rig_start(call);
    uint64_t id = rig_send(PIPELINE)->id;
    break_connection();
    struct command *undo = rig_send(PIPELINE);
    CHECK(undo->kind == COMMAND_UNDO && undo->id == id);
    rig_integer(PIPELINE, 2);
    CHECK(rig_send(PIPELINE)->id != id);
    rig_acknowledged(PIPELINE, (struct reply){.kind = REPLY_INTEGER, .integer = 2}, 2);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    call = rig_call(OPERATION_CHANGE, "s", 0);
    call->operation->change = SEMAPHORE_DRAIN;
    rig_start(call);
    rig_send(PIPELINE);
    break_connection();
    CHECK_EQ_INT(call->status, REDLATCH_NOT_REPLICATED);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_UNDO);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void take(struct acknowledgement *acknowledgement, const char *error) {
    const struct reply reply = {.kind = REPLY_ERROR, .text = error, .size = strlen(error)};
    acknowledgement_take(acknowledgement, &rig.engine, &reply);
}

static void what_the_server_refuses(void) {
    open_rig();
    struct acknowledgement acknowledgement = {.status = REDLATCH_OK};
    struct call *call = rig_try("a", 1);
    uint64_t id = rig_send(PIPELINE)->id;
    take(&acknowledgement, "NOPERM this user has no permissions to run the 'wait' command");
    const struct reply granted = {.kind = REPLY_NIL, .acknowledgement = &acknowledgement};
    rig_reply(PIPELINE, &granted);
    CHECK_EQ_INT(call->status, REDLATCH_NO_PERMISSION);
    CHECK_STR(call->answer.error_text, "NOPERM this user has no permissions to run the 'wait' command");
    check_given_back(id, 0);
    RIG_CLOSE();
}

/* The reply to WAITAOF comes behind that to WAIT. It has two numbers: 1 if the write is on the server's own disk, and
 * how many replicas have it on theirs. */
static void on_disk(void) {
    open_rig();
    rig.engine.settings.durable = true;
    const struct reply replicas = {.kind = REPLY_INTEGER, .integer = 2};
    struct reply disks[] = {{.kind = REPLY_INTEGER}, {.kind = REPLY_INTEGER, .integer = 2}};
    const struct reply files = {.kind = REPLY_ARRAY, .elements = disks, .count = 2};
    struct acknowledgement acknowledgement = {.status = REDLATCH_OK};
    const struct reply granted = {.kind = REPLY_NIL, .acknowledgement = &acknowledgement};
    rig_try("a", 1);
    rig_send(PIPELINE);
    CHECK_EQ_INT(engine_acknowledgements_follow(&rig.engine, engine_pipeline(&rig.engine, PIPELINE)), 2);
    acknowledgement_take(&acknowledgement, &rig.engine, &replicas);
    acknowledgement_take(&acknowledgement, &rig.engine, &files);
    CHECK(!reply_is_acknowledged(&rig.engine, &granted));
    disks[0].integer = 1;
    acknowledgement = (struct acknowledgement){.status = REDLATCH_OK};
    acknowledgement_take(&acknowledgement, &rig.engine, &replicas);
    acknowledgement_take(&acknowledgement, &rig.engine, &files);
    CHECK(reply_is_acknowledged(&rig.engine, &granted));
    const struct reply short_files = {.kind = REPLY_ARRAY, .elements = disks, .count = 1};
    acknowledgement_take(&acknowledgement, &rig.engine, &short_files);
    CHECK(!reply_is_acknowledged(&rig.engine, &granted));
    acknowledgement_take(&acknowledgement, &rig.engine, &files);
    rig_reply(PIPELINE, &granted);
    rig.engine.settings.min_replicas = 0;
    acknowledgement = (struct acknowledgement){.status = REDLATCH_OK};
    take(&acknowledgement, "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
    CHECK_EQ_INT(acknowledgement.status, REDLATCH_UNSUPPORTED);
    rig_end("a", 1);
    RIG_CLOSE();
}

int main(void) {
    RUN(enough_replicas);
    RUN(an_unknown_script_goes_as_text);
    RUN(too_few_end_a_try);
    RUN(a_waiter_asks_again_under_a_new_number);
    RUN(a_waiter_gives_back_what_each_request_took);
    RUN(a_contended_reply_is_not_kept);
    RUN(a_reentry_is_taken_back);
    RUN(a_lost_reply_is_not_repeated);
    RUN(a_reentry_is_repeated);
    RUN(a_renewal_counts_when_acknowledged);
    RUN(a_hold_that_is_gone_is_lost_without_acknowledgement);
    RUN(an_extension_is_not_believed);
    RUN(nothing_is_handed_over);
    RUN(a_fair_waiter_leaves_its_place);
    RUN(a_set_is_given_back);
    RUN(a_set_in_doubt);
    RUN(a_position_in_doubt);
    RUN(permits_in_doubt);
    RUN(what_the_server_refuses);
    RUN(on_disk);
    return unit_done();
}
