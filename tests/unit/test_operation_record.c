/* The keys in which operations are recorded: each row of the table at the head of operation_record.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

static struct call *start(enum change change, const char *name) {
    rig.lock_kind = REDLATCH_SEMAPHORE;
    struct call *call = rig_call(OPERATION_CHANGE, name, 0);
    call->operation->change = (uint8_t)change;
    call->operation->amount = 1;
    rig_start(call);
    return call;
}

/* Carries out an operation without errors, and returns its record key. */
static uint64_t key_of_next(void) {
    start(SEMAPHORE_RELEASE, "s");
    uint64_t key = rig_send(PIPELINE)->record_key;
    rig_integer(PIPELINE, 1);
    CHECK(key != 0);
    return key;
}

static void one_after_the_other_uses_one_key(void) {
    rig_open();
    uint64_t key = key_of_next();
    for (int i = 0; i < 5; i++) {
        CHECK(key_of_next() == key);
    }
    RIG_CLOSE();
}

static void those_under_way_together_have_a_key_each(void) {
    rig_open();
    start(SEMAPHORE_RELEASE, "s");
    start(SEMAPHORE_RELEASE, "s");
    uint64_t first = rig_send(PIPELINE)->record_key;
    uint64_t second = rig_send(PIPELINE)->record_key;
    CHECK(first != second);
    rig_integer(PIPELINE, 1);
    start(SEMAPHORE_RELEASE, "s");
    CHECK(rig_send(PIPELINE)->record_key == first);
    rig_integer(PIPELINE, 1);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void a_key_number_is_no_number_of_an_operation(void) {
    rig_open();
    start(SEMAPHORE_RELEASE, "s");
    struct command *command = rig_send(PIPELINE);
    uint64_t key = command->record_key;
    CHECK(command->id != key);
    rig_integer(PIPELINE, 1);
    start(SEMAPHORE_RELEASE, "s");
    command = rig_send(PIPELINE);
    CHECK(command->record_key == key && command->id > key);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void what_was_sent_again_keeps_its_key_only_where_copies_may_come(void) {
    static const enum resolution ways[] = {RESOLVED_BY_KILL, RESOLVED_BY_RESTART, RESOLUTION_DENIED};
    for (int i = 0; i < 3; i++) {
        rig_open();
        start(SEMAPHORE_ADD, "s");
        uint64_t key = rig_send(PIPELINE)->record_key;
        rig_lost(PIPELINE);
        rig_ready(PIPELINE, ways[i]);
        CHECK(rig_send(PIPELINE)->record_key == key);
        rig_integer(PIPELINE, 1);
        CHECK((key_of_next() == key) == (ways[i] != RESOLUTION_DENIED));
        uint64_t next = key_of_next();
        CHECK(key_of_next() == next); /* sent once and answered: no copy can arrive */
        RIG_CLOSE();
    }
}

static void what_was_forgotten_without_an_answer_keeps_its_key(void) {
    rig_open();
    struct call *call = start(SEMAPHORE_ADD, "s");
    uint64_t key = rig_send(PIPELINE)->record_key;
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(key_of_next() != key);
    RIG_CLOSE();
}

static void an_answer_after_the_caller_left_frees_the_key(void) {
    rig_open();
    struct call *call = start(SEMAPHORE_ADD, "s");
    uint64_t key = rig_send(PIPELINE)->record_key;
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_integer(PIPELINE, 1);
    CHECK(key_of_next() == key);
    RIG_CLOSE();
}

static void what_was_never_sent_frees_its_key(void) {
    rig_open();
    struct call *call = start(SEMAPHORE_ADD, "s");
    uint64_t key = call->operation->command->record_key;
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK(key_of_next() == key);
    RIG_CLOSE();
}

static void the_undo_takes_the_key_over(void) {
    for (int denied = 0; denied < 2; denied++) {
        rig_open();
        if (denied) {
            rig_lost(PIPELINE);
            rig_ready(PIPELINE, RESOLUTION_DENIED);
        }
        struct call *call = start(SEMAPHORE_DRAIN, "s");
        uint64_t key = rig_send(PIPELINE)->record_key;
        rig_abort(call, REDLATCH_TIMEOUT);
        CHECK(rig_send(PIPELINE)->record_key == key);
        rig_integer(PIPELINE, 3); /* the drain's reply; the undo is still to write its mark */
        start(SEMAPHORE_RELEASE, "s");
        CHECK(rig_send(PIPELINE)->record_key != key);
        rig_integer(PIPELINE, 3);
        rig_integer(PIPELINE, 1);
        uint64_t one = key_of_next();
        start(SEMAPHORE_RELEASE, "s");
        start(SEMAPHORE_RELEASE, "s");
        uint64_t both[] = {rig_send(PIPELINE)->record_key, rig_send(PIPELINE)->record_key};
        CHECK(one == both[0] && (both[1] == key) == !denied);
        rig_integer(PIPELINE, 1);
        rig_integer(PIPELINE, 1);
        RIG_CLOSE();
    }
}

static void a_refused_undo_leaves_the_key_alone(void) {
    rig_open();
    struct call *call = start(SEMAPHORE_DRAIN, "s");
    uint64_t key = rig_send(PIPELINE)->record_key;
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 3);
    rig_error(PIPELINE, "WRONGTYPE another key");
    CHECK(key_of_next() != key);
    RIG_CLOSE();
}

static void more_keys_than_there_is_room_for_are_forgotten(void) {
    rig_open();
    for (int i = 0; i < RECORD_KEYS + 3; i++) {
        start(SEMAPHORE_RELEASE, "s");
    }
    for (int i = 0; i < RECORD_KEYS + 3; i++) {
        CHECK(rig_send(PIPELINE)->record_key != 0);
    }
    for (int i = 0; i < RECORD_KEYS + 3; i++) {
        rig_integer(PIPELINE, 1);
    }
    CHECK_EQ_INT(rig.engine.record_keys.count, RECORD_KEYS);
    RIG_CLOSE();
}

int main(void) {
    RUN(one_after_the_other_uses_one_key);
    RUN(those_under_way_together_have_a_key_each);
    RUN(a_key_number_is_no_number_of_an_operation);
    RUN(what_was_sent_again_keeps_its_key_only_where_copies_may_come);
    RUN(what_was_forgotten_without_an_answer_keeps_its_key);
    RUN(an_answer_after_the_caller_left_frees_the_key);
    RUN(what_was_never_sent_frees_its_key);
    RUN(the_undo_takes_the_key_over);
    RUN(a_refused_undo_leaves_the_key_alone);
    RUN(more_keys_than_there_is_room_for_are_forgotten);
    return unit_done();
}
