/* Sets with modes of read-write locks: what an owner of one mode gets of the other, and which sets read together.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

static void end_all(const char *letters, uint64_t owner) {
    struct call *call = rig_set_call(OPERATION_RELEASE, letters, owner);
    rig_start(call);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 2);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
}

static void who_reads_a_member_and_is_to_write_it_would_wait_for_itself(void) {
    rig_open();
    rig.lock_kind = REDLATCH_READ;
    rig_grant("b", 1);
    rig.lock_kind = REDLATCH_WRITE;
    CHECK_EQ_INT(rig_acquire_all("ab", 1)->status, REDLATCH_WOULD_DEADLOCK);
    CHECK(rig_send(PIPELINE) == NULL);
    struct call *other = rig_acquire_all("ab", 2);
    rig_send(PIPELINE);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(other->status, REDLATCH_OK);
    end_all("ab", 2);
    rig.lock_kind = REDLATCH_READ;
    rig_end("b", 1);
    RIG_CLOSE();
}

static void who_writes_a_member_passes_its_number_to_read_it(void) {
    rig_open();
    rig.lock_kind = REDLATCH_WRITE;
    struct hold *writes = rig_grant("b", 1);
    rig.lock_kind = REDLATCH_READ;
    struct call *call = rig_acquire_all("ab", 1);
    struct command *command = rig_send(PIPELINE);
    CHECK_EQ_INT((int64_t)command->entries->entry[0].pass, 0);
    CHECK_EQ_INT((int64_t)command->entries->entry[1].pass, (int64_t)writes->id);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    end_all("ab", 1);
    rig.lock_kind = REDLATCH_WRITE;
    rig_end("b", 1);
    RIG_CLOSE();
}

/* One message is for all readers: after each set that is granted the next one requests. */
static void sets_that_read_the_same_name_go_one_after_the_other(void) {
    rig_open();
    rig.lock_kind = REDLATCH_READ;
    struct call *calls[3];
    for (uint64_t owner = 1; owner <= 3; owner++) {
        calls[owner - 1] = rig_acquire_all("ab", owner);
        rig_send(PIPELINE);
        rig_contended(PIPELINE, 1, 60000);
    }
    rig_subscriptions();
    for (int i = 0; i < 3; i++) {
        rig_send(PIPELINE);
        rig_contended(PIPELINE, 1, 60000);
    }
    rig_message_of("a", 1);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_INT(calls[i]->operation->phase, PHASE_REQUESTING);
        rig_send(PIPELINE);
        rig_granted(PIPELINE);
        CHECK_EQ_INT(calls[i]->status, REDLATCH_OK);
    }
    for (uint64_t owner = 1; owner <= 3; owner++) {
        end_all("ab", owner);
    }
    RIG_CLOSE();
}

int main(void) {
    RUN(who_reads_a_member_and_is_to_write_it_would_wait_for_itself);
    RUN(who_writes_a_member_passes_its_number_to_read_it);
    RUN(sets_that_read_the_same_name_go_one_after_the_other);
    return unit_done();
}
