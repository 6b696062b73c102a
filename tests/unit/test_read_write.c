/* The two modes of a read-write lock: which waiters acquire together, which wait, and what an owner of one mode gets of
 * the other.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"
#include "hold_end.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

static struct call *reader(uint64_t owner) {
    rig.lock_kind = REDLATCH_READ;
    return rig_acquire("a", owner);
}

static struct call *writer(uint64_t owner) {
    rig.lock_kind = REDLATCH_WRITE;
    return rig_acquire("a", owner);
}

static struct call *release(uint8_t side, uint64_t owner) {
    rig.lock_kind = side;
    return rig_release("a", owner);
}

/* Returns the next command, which must be of this kind and mode. */
static struct command *sends(enum command_kind kind, uint8_t side) {
    struct command *command = rig_send(PIPELINE);
    CHECK(command && command->kind == kind && command->lock_kind == side);
    return command;
}

static struct hold *grant(uint8_t side, uint64_t owner) {
    rig.lock_kind = side;
    return rig_grant("a", owner);
}

static void end(uint8_t side, uint64_t owner) {
    rig.lock_kind = side;
    rig_end("a", owner);
}

/* Another process holds the lock: the foremost waiters find it held, subscribe, and find it held again. */
static void refuse_and_subscribe(int waiters) {
    for (int i = 0; i < waiters; i++) {
        rig_send(PIPELINE);
    }
    for (int i = 0; i < waiters; i++) {
        rig_integer(PIPELINE, 30000);
    }
    rig_subscriptions();
    for (int i = 0; i < waiters; i++) {
        rig_send(PIPELINE);
    }
    for (int i = 0; i < waiters; i++) {
        rig_integer(PIPELINE, 30000);
    }
}

static void readers_go_at_once(void) {
    struct call *calls[3];
    rig_open();
    for (uint64_t owner = 0; owner < 3; owner++) {
        calls[owner] = reader(owner + 1);
    }
    for (int i = 0; i < 3; i++) { /* all in one write, without an answer in between */
        sends(COMMAND_ACQUIRE, REDLATCH_READ);
    }
    for (int i = 0; i < 3; i++) {
        rig_nil(PIPELINE);
        CHECK_EQ_INT(calls[i]->status, REDLATCH_OK);
    }
    for (uint64_t owner = 1; owner <= 3; owner++) {
        end(REDLATCH_READ, owner);
    }
    RIG_CLOSE();
}

static void a_message_of_a_writer_is_for_all_readers_at_the_front(void) {
    struct call *calls[4];
    rig_open();
    calls[0] = reader(1);
    calls[1] = reader(2);
    calls[2] = writer(3);
    calls[3] = reader(4);
    refuse_and_subscribe(2);
    CHECK(rig_send(PIPELINE) == NULL);
    CHECK_EQ_INT(calls[2]->operation->phase, PHASE_QUEUED);
    rig_message_of("a", 1);
    sends(COMMAND_ACQUIRE, REDLATCH_READ);
    sends(COMMAND_ACQUIRE, REDLATCH_READ);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_nil(PIPELINE);
    rig_nil(PIPELINE);
    CHECK(calls[0]->done && calls[1]->done);
    CHECK_EQ_INT(calls[2]->operation->phase, PHASE_PARKED); /* this process reads: its release will notify */
    CHECK_EQ_INT(calls[3]->operation->phase, PHASE_QUEUED); /* held back by the writer */
    end(REDLATCH_READ, 1);
    CHECK(rig_send(PIPELINE) == NULL); /* another reader of this process still holds */
    end(REDLATCH_READ, 2);
    sends(COMMAND_ACQUIRE, REDLATCH_WRITE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(calls[2]->status, REDLATCH_OK);
    end(REDLATCH_WRITE, 3);
    sends(COMMAND_ACQUIRE, REDLATCH_READ);
    rig_nil(PIPELINE);
    end(REDLATCH_READ, 4);
    RIG_CLOSE();
}

static void a_message_of_a_reader_is_for_the_foremost_and_then_for_the_others(void) {
    struct call *calls[2];
    rig_open();
    calls[0] = reader(1);
    calls[1] = reader(2);
    refuse_and_subscribe(2);
    rig_message_of("a", 0);
    sends(COMMAND_ACQUIRE, REDLATCH_READ);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_nil(PIPELINE);
    sends(COMMAND_ACQUIRE, REDLATCH_READ);
    rig_nil(PIPELINE);
    CHECK(calls[0]->done && calls[1]->done);
    end(REDLATCH_READ, 1);
    end(REDLATCH_READ, 2);
    RIG_CLOSE();
}

static void a_message_while_requesting_is_not_missed(void) {
    rig_open();
    reader(1);
    struct call *second = reader(2);
    refuse_and_subscribe(2);
    rig_message_of("a", 0);
    sends(COMMAND_ACQUIRE, REDLATCH_READ);
    rig_message_of("a", 1); /* the second requests now, and the first will again */
    sends(COMMAND_ACQUIRE, REDLATCH_READ);
    rig_integer(PIPELINE, 30000);
    rig_nil(PIPELINE);
    CHECK(second->done);
    sends(COMMAND_ACQUIRE, REDLATCH_READ);
    rig_nil(PIPELINE);
    end(REDLATCH_READ, 1);
    end(REDLATCH_READ, 2);
    RIG_CLOSE();
}

static void held_back_readers_go_when_the_writer_gives_up(void) {
    rig_open();
    struct call *first = writer(1);
    struct call *readers[] = {reader(2), reader(3)};
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    rig_subscriptions();
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    rig_abort(first, REDLATCH_CANCELLED);
    sends(COMMAND_ACQUIRE, REDLATCH_READ);
    sends(COMMAND_ACQUIRE, REDLATCH_READ);
    rig_nil(PIPELINE);
    rig_nil(PIPELINE);
    CHECK(readers[0]->done && readers[1]->done);
    end(REDLATCH_READ, 2);
    end(REDLATCH_READ, 3);
    RIG_CLOSE();
}

static void a_writer_who_gives_up_in_the_middle_lets_readers_join(void) {
    rig_open();
    reader(1);
    struct call *middle = writer(2);
    reader(3);
    refuse_and_subscribe(1);
    rig_abort(middle, REDLATCH_CANCELLED);
    sends(COMMAND_ACQUIRE, REDLATCH_READ); /* it has had no reply yet */
    CHECK(rig_send(PIPELINE) == NULL);
    rig_integer(PIPELINE, 30000);
    rig_message_of("a", 1);
    sends(COMMAND_ACQUIRE, REDLATCH_READ);
    sends(COMMAND_ACQUIRE, REDLATCH_READ);
    rig_nil(PIPELINE);
    rig_nil(PIPELINE);
    end(REDLATCH_READ, 1);
    end(REDLATCH_READ, 3);
    RIG_CLOSE();
}

static void who_reads_and_asks_to_write_is_refused_at_once(void) {
    rig_open();
    grant(REDLATCH_READ, 1);
    grant(REDLATCH_READ, 2);
    struct call *call = writer(1);
    const struct command *asks = sends(COMMAND_REENTER, REDLATCH_READ); /* whether it still holds the read lock */
    CHECK(asks->count == 1 && asks->lease_ms == 1);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(call->status, REDLATCH_WOULD_DEADLOCK);
    CHECK(rig_send(PIPELINE) == NULL);
    end(REDLATCH_READ, 2);
    release(REDLATCH_READ, 1);
    call = writer(1); /* its read lock is being released */
    CHECK(!call->done);
    sends(COMMAND_RELEASE, REDLATCH_READ);
    sends(COMMAND_ACQUIRE, REDLATCH_WRITE);
    rig_integer(PIPELINE, 1);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    end(REDLATCH_WRITE, 1);
    RIG_CLOSE();
}

static void who_writes_reads_past_the_queue(void) {
    rig_open();
    struct hold *write = grant(REDLATCH_WRITE, 1);
    struct call *others[] = {reader(2), writer(3)};
    CHECK(rig_send(PIPELINE) == NULL || !others[0]->done);
    rig_integer(PIPELINE, 30000);
    struct call *read = reader(1);
    struct command *command = sends(COMMAND_ACQUIRE, REDLATCH_READ);
    CHECK(command->successor == write->id && command->id != write->id);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(read->status, REDLATCH_OK);
    CHECK(read->hold != write && read->hold->owner == write->owner);
    CHECK(resource_hold_of(rig_name("a"), REDLATCH_WRITE, 1) == write);
    CHECK(!others[0]->done && !others[1]->done);
    rig_abort(others[0], REDLATCH_CANCELLED);
    rig_abort(others[1], REDLATCH_CANCELLED);
    end(REDLATCH_READ, 1);
    end(REDLATCH_WRITE, 1);
    RIG_CLOSE();
}

static void a_writer_hands_over_to_a_writer_only(void) {
    rig_open();
    grant(REDLATCH_WRITE, 1);
    struct call *next = writer(2);
    reader(3);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    rig_subscriptions();
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    release(REDLATCH_WRITE, 1);
    sends(COMMAND_HAND_OVER, REDLATCH_WRITE);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(next->status, REDLATCH_OK);
    CHECK_EQ_INT(rig.engine.stats.hand_overs, 1);
    release(REDLATCH_WRITE, 2); /* a reader is next: the release notifies everybody */
    sends(COMMAND_RELEASE, REDLATCH_WRITE);
    rig_integer(PIPELINE, 2);
    sends(COMMAND_ACQUIRE, REDLATCH_READ);
    rig_nil(PIPELINE);
    end(REDLATCH_READ, 3);
    RIG_CLOSE();
}

static void a_writer_who_reads_downgrades(void) {
    rig_open();
    grant(REDLATCH_WRITE, 1);
    grant(REDLATCH_READ, 1);
    struct call *next = writer(2);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    rig_subscriptions();
    release(REDLATCH_WRITE, 1);
    rig_send(PIPELINE); /* the recheck after the subscription */
    sends(COMMAND_RELEASE, REDLATCH_WRITE);
    rig_integer(PIPELINE, 30000);
    rig_integer(PIPELINE, 2);
    CHECK(!next->done);
    CHECK(rig_send(PIPELINE) == NULL); /* this process still reads */
    end(REDLATCH_READ, 1);
    sends(COMMAND_ACQUIRE, REDLATCH_WRITE);
    rig_nil(PIPELINE);
    end(REDLATCH_WRITE, 2);
    RIG_CLOSE();
}

static void a_hand_over_that_finds_reads_becomes_a_release(void) {
    rig_open();
    grant(REDLATCH_WRITE, 1);
    struct call *next = writer(2);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    rig_subscriptions();
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    struct call *call = release(REDLATCH_WRITE, 1);
    struct command *command = sends(COMMAND_HAND_OVER, REDLATCH_WRITE);
    uint64_t id = command->id;
    rig_integer(PIPELINE, 2); /* an abandoned read lock is still there */
    CHECK_EQ_INT(next->operation->phase, PHASE_REQUESTING);
    CHECK(rig_send(PIPELINE) == command && command->kind == COMMAND_RELEASE && command->id == id &&
          command->count == 0);
    sends(COMMAND_ACQUIRE, REDLATCH_WRITE);
    rig_integer(PIPELINE, 2);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(next->status, REDLATCH_OK);
    end(REDLATCH_WRITE, 2);
    RIG_CLOSE();
}

static void a_try_does_not_overtake_a_waiting_writer(void) {
    rig_open();
    grant(REDLATCH_READ, 1);
    struct call *waiting = writer(2);
    rig.lock_kind = REDLATCH_READ;
    CHECK_EQ_INT(rig_try("a", 3)->status, REDLATCH_TIMEOUT);
    rig_abort(waiting, REDLATCH_CANCELLED);
    struct call *call = rig_try("a", 3);
    CHECK(!call->done);
    struct call *beside = rig_try("a", 4); /* readers do not exclude each other */
    while (rig_send(PIPELINE)) {
    }
    while (!call->done || !beside->done) {
        rig_nil(PIPELINE);
    }
    CHECK(call->status == REDLATCH_OK && beside->status == REDLATCH_OK);
    for (uint64_t owner = 1; owner < 5; owner += owner == 1 ? 2 : 1) {
        end(REDLATCH_READ, owner);
    }
    RIG_CLOSE();
}

/* The loss is found by the clock, or by a reply. Acquires return LOST until the owner has released. */
static void a_lost_reader_gets_lost_once_and_may_write_then(void) {
    rig_open();
    for (int by_server = 0; by_server < 2; by_server++) {
        const struct hold *hold = grant(REDLATCH_READ, 1);
        struct call *call = NULL;
        if (by_server) {
            call = writer(1);
            sends(COMMAND_REENTER, REDLATCH_READ);
            rig_integer(PIPELINE, 0);
        } else {
            rig.now = hold->deadline;
            call = writer(1);
        }
        CHECK_EQ_INT(call->status, REDLATCH_LOST);
        CHECK_EQ_INT(writer(1)->status, REDLATCH_LOST);
        CHECK_EQ_INT(release(REDLATCH_READ, 1)->status, REDLATCH_LOST);
        while (rig_send(PIPELINE)) { /* what may have been left on the server is released */
            rig_integer(PIPELINE, 1);
        }
        grant(REDLATCH_WRITE, 1);
        end(REDLATCH_WRITE, 1);
    }
    RIG_CLOSE();
}

static void calls_of_one_named_owner_make_one_hold(void) {
    rig_open();
    rig.lock_kind = REDLATCH_READ;
    struct call *calls[] = {rig_acquire_named("a", 1), rig_acquire_named("a", 1)};
    sends(COMMAND_ACQUIRE, REDLATCH_READ);
    CHECK(rig_send(PIPELINE) == NULL);
    rig.lock_kind = REDLATCH_WRITE;
    struct call *upgrade = rig_acquire_named("a", 1);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(calls[0]->status, REDLATCH_OK);
    CHECK_EQ_INT(sends(COMMAND_REENTER, REDLATCH_READ)->count, 2);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(sends(COMMAND_REENTER, REDLATCH_READ)->count, 2);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(upgrade->status, REDLATCH_WOULD_DEADLOCK);
    CHECK(calls[1]->status == REDLATCH_OK && calls[1]->hold == calls[0]->hold && calls[0]->hold->count == 2);
    end(REDLATCH_READ, 1);
    end(REDLATCH_READ, 1);
    RIG_CLOSE();
}

static void a_named_owner_who_gets_the_write_lock_reads_at_once(void) {
    rig_open();
    grant(REDLATCH_READ, 2);
    rig.lock_kind = REDLATCH_WRITE;
    struct call *write = rig_acquire_named("a", 1);
    rig.lock_kind = REDLATCH_READ;
    struct call *read = rig_acquire_named("a", 1);
    rig_send(PIPELINE);
    CHECK_EQ_INT(read->operation->phase, PHASE_QUEUED);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(write->status, REDLATCH_OK);
    CHECK_EQ_INT(sends(COMMAND_ACQUIRE, REDLATCH_READ)->successor, write->hold->id);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(read->status, REDLATCH_OK);
    end(REDLATCH_READ, 1);
    end(REDLATCH_WRITE, 1);
    end(REDLATCH_READ, 2);
    RIG_CLOSE();
}

static void reads_of_a_named_owner_follow_its_write_lock_in_order(void) {
    struct call *reads[4];
    rig_open();
    grant(REDLATCH_READ, 2);
    rig.lock_kind = REDLATCH_WRITE;
    struct call *write = rig_acquire_named("a", 1);
    rig.lock_kind = REDLATCH_READ;
    for (int i = 0; i < 4; i++) {
        reads[i] = rig_acquire_named("a", 1);
    }
    struct call *other = reader(3);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(write->status, REDLATCH_OK);
    CHECK_EQ_INT(sends(COMMAND_ACQUIRE, REDLATCH_READ)->successor, write->hold->id);
    CHECK(rig_send(PIPELINE) == NULL); /* the other reads will raise its hold count; the reader behind them waits */
    CHECK_EQ_INT(rig_wait_queue("a")->waiter_count, 5);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(reads[0]->status, REDLATCH_OK);
    for (int i = 1; i < 4; i++) {
        CHECK_EQ_INT(sends(COMMAND_REENTER, REDLATCH_READ)->count, i + 1);
        rig_integer(PIPELINE, 1);
        CHECK_EQ_INT(reads[i]->status, REDLATCH_OK);
    }
    CHECK_EQ_INT(other->operation->phase, PHASE_PARKED);
    rig_abort(other, REDLATCH_TIMEOUT);
    for (int i = 0; i < 4; i++) {
        end(REDLATCH_READ, 1);
    }
    end(REDLATCH_WRITE, 1);
    end(REDLATCH_READ, 2);
    RIG_CLOSE();
}

static void reads_of_a_named_owner_who_writes_ask_once(void) {
    rig_open();
    rig.lock_kind = REDLATCH_WRITE;
    struct call *write = rig_acquire_named("a", 1);
    struct call *other = reader(3);
    struct call *reads[2] = {rig_acquire_named("a", 1)};
    sends(COMMAND_ACQUIRE, REDLATCH_WRITE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(write->status, REDLATCH_OK);
    CHECK_EQ_INT(sends(COMMAND_ACQUIRE, REDLATCH_READ)->successor, write->hold->id);
    reads[1] = rig_acquire_named("a", 1);
    rig_abort(other, REDLATCH_TIMEOUT);
    CHECK(rig_send(PIPELINE) == NULL); /* it waits for the reply to the first read */
    rig_nil(PIPELINE);
    CHECK_EQ_INT(reads[0]->status, REDLATCH_OK);
    CHECK_EQ_INT(sends(COMMAND_REENTER, REDLATCH_READ)->count, 2);
    rig_integer(PIPELINE, 1);
    CHECK(reads[1]->status == REDLATCH_OK && reads[1]->hold == reads[0]->hold);
    end(REDLATCH_READ, 1);
    end(REDLATCH_READ, 1);
    end(REDLATCH_WRITE, 1);
    RIG_CLOSE();
}

static void a_loss_while_others_have_their_turn_is_not_missed(void) {
    rig_open();
    struct hold *hold = grant(REDLATCH_READ, 1);
    struct call *write = writer(2);
    rig_park(30000);
    rig_wait_queue("a")->yield_until = rig.now + 2 * MILLISECOND;
    hold_lose(&rig.engine, hold, REDLATCH_REASON_MISSING, rig.now);
    rig_turn();
    CHECK(rig_send(PIPELINE) == NULL);
    rig_pass(2 * MILLISECOND);
    sends(COMMAND_ACQUIRE, REDLATCH_WRITE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(write->status, REDLATCH_OK);
    end(REDLATCH_WRITE, 2);
    CHECK_EQ_INT(release(REDLATCH_READ, 1)->status, REDLATCH_LOST);
    RIG_CLOSE();
}

static void an_owner_that_ends_loses_both_modes(void) {
    int reason;
    rig_open();
    grant(REDLATCH_WRITE, 1);
    grant(REDLATCH_READ, 1);
    engine_owner_end(&rig.engine, 1, rig.now);
    rig_turn();
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, &reason), 2);
    CHECK_EQ_INT(reason, REDLATCH_REASON_ABANDONED);
    rig_losses(LOSS_THREADS, &reason);
    RIG_CLOSE();
}

static void each_mode_is_renewed_by_a_script_of_its_own(void) {
    int64_t found[] = {20000};
    rig_open();
    grant(REDLATCH_WRITE, 1);
    grant(REDLATCH_READ, 1);
    rig_pass(10 * SECOND);
    struct command *first = rig_send(PIPELINE_BACKGROUND);
    struct command *second = rig_send(PIPELINE_BACKGROUND);
    CHECK(first && second && first->batch_count == 1 && second->batch_count == 1 &&
          first->lock_kind != second->lock_kind);
    rig_integers(PIPELINE_BACKGROUND, found, 1);
    rig_integers(PIPELINE_BACKGROUND, found, 1);
    CHECK_EQ_INT(rig.engine.stats.renewals, 2);
    end(REDLATCH_READ, 1);
    end(REDLATCH_WRITE, 1);
    RIG_CLOSE();
}

int main(void) {
    RUN(readers_go_at_once);
    RUN(a_message_of_a_writer_is_for_all_readers_at_the_front);
    RUN(a_message_of_a_reader_is_for_the_foremost_and_then_for_the_others);
    RUN(a_message_while_requesting_is_not_missed);
    RUN(held_back_readers_go_when_the_writer_gives_up);
    RUN(a_writer_who_gives_up_in_the_middle_lets_readers_join);
    RUN(who_reads_and_asks_to_write_is_refused_at_once);
    RUN(a_lost_reader_gets_lost_once_and_may_write_then);
    RUN(who_writes_reads_past_the_queue);
    RUN(a_writer_hands_over_to_a_writer_only);
    RUN(a_writer_who_reads_downgrades);
    RUN(a_hand_over_that_finds_reads_becomes_a_release);
    RUN(a_try_does_not_overtake_a_waiting_writer);
    RUN(calls_of_one_named_owner_make_one_hold);
    RUN(a_named_owner_who_gets_the_write_lock_reads_at_once);
    RUN(reads_of_a_named_owner_follow_its_write_lock_in_order);
    RUN(reads_of_a_named_owner_who_writes_ask_once);
    RUN(a_loss_while_others_have_their_turn_is_not_missed);
    RUN(an_owner_that_ends_loses_both_modes);
    RUN(each_mode_is_renewed_by_a_script_of_its_own);
    return unit_done();
}
