/* Batches that a server refuses because of one of their names: the other holds are renewed without it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"
#include "lease.h"

static const enum pipeline_role BACKGROUND = PIPELINE_BACKGROUND;
static const char DENIED[] = "NOPERM No permissions to access a key";

/* Replies to each batch of one hold: the one with the wire number `refused` is refused. Returns how many were
 * renewed. */
static int reply_to_each(uint64_t refused, const char *error) {
    struct command *batch;
    int renewed = 0;
    while ((batch = rig_send(BACKGROUND)) != NULL) {
        CHECK_EQ_INT(batch->batch_count, 1);
        if (batch->batch[0].id == refused) {
            rig_error(BACKGROUND, error);
        } else {
            rig_integers(BACKGROUND, (const int64_t[]){1}, 1);
            renewed++;
        }
    }
    return renewed;
}

static void one_forbidden_name_does_not_cost_the_others(void) {
    static const char *const errors[] = {DENIED, "CROSSSLOT Keys in request don't hash to the same slot"};
    for (int i = 0; i < 2; i++) {
        rig_open();
        const struct hold *holds[] = {rig_grant("a", 1), rig_grant("b", 1), rig_grant("c", 1)};
        uint64_t refused = holds[1]->id;
        rig_pass(RIG_LEASE_MS / 3 * MILLISECOND);
        CHECK_EQ_INT(rig_send(BACKGROUND)->batch_count, 3);
        rig_error(BACKGROUND, errors[i]);
        rig_pass(0); /* not later */
        CHECK_EQ_INT(reply_to_each(refused, DENIED), 2);
        CHECK_EQ_INT(holds[0]->deadline, lease_deadline(rig.now, RIG_LEASE_MS));
        CHECK_EQ_INT(holds[2]->deadline, lease_deadline(rig.now, RIG_LEASE_MS));
        while (rig.engine.stats.lost == 0) {
            rig_pass(100 * MILLISECOND);
            reply_to_each(refused, DENIED);
        }
        CHECK_EQ_INT(rig.engine.stats.held, 2);
        CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), 1);
        rig_end("a", 1);
        rig_end("c", 1);
        CHECK_EQ_INT(rig_release("b", 1)->status, REDLATCH_LOST);
        rig_drain_background();
        RIG_CLOSE();
    }
}

/* It is repeated ten times in a lease: there may be many such holds. */
static void a_hold_that_is_refused_by_itself_is_repeated_less_often(void) {
    rig_open();
    const struct hold *hold = rig_grant("a", 1);
    rig_pass(RIG_LEASE_MS / 3 * MILLISECOND);
    int sent = 0;
    while (rig.engine.stats.lost == 0) {
        const struct command *batch = rig_send(BACKGROUND);
        if (batch) {
            sent++;
            CHECK(batch->batch_count == 1 && batch->batch[0].hold == hold);
            rig_error(BACKGROUND, DENIED);
        }
        rig_pass(100 * MILLISECOND);
    }
    CHECK_EQ_INT(sent, 7);
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), 1);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    rig_drain_background();
    RIG_CLOSE();
}

/* That says nothing about the names. */
static void a_batch_that_is_refused_as_a_whole_stays_one(void) {
    static const char *const errors[] = {"NOAUTH Authentication required.",
                                         "LOADING Redis is loading the dataset in memory"};
    for (int i = 0; i < 2; i++) {
        rig_open();
        rig_grant("a", 1);
        rig_grant("b", 1);
        rig_pass(RIG_LEASE_MS / 3 * MILLISECOND);
        CHECK_EQ_INT(rig_send(BACKGROUND)->batch_count, 2);
        rig_error(BACKGROUND, errors[i]);
        rig_pass(99 * MILLISECOND);
        CHECK(rig_send(BACKGROUND) == NULL);
        rig_pass(MILLISECOND);
        CHECK_EQ_INT(rig_send(BACKGROUND)->batch_count, 2);
        rig_integers(BACKGROUND, (const int64_t[]){1, 1}, 2);
        rig_end("a", 1);
        rig_end("b", 1);
        RIG_CLOSE();
    }
}

int main(void) {
    RUN(one_forbidden_name_does_not_cost_the_others);
    RUN(a_hold_that_is_refused_by_itself_is_repeated_less_often);
    RUN(a_batch_that_is_refused_as_a_whole_stays_one);
    return unit_done();
}
