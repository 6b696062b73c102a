/* Batches that a server refuses because of one of their names: the other holds are renewed without it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"
#include "lease.h"

static const enum pipeline_role BACKGROUND = PIPELINE_BACKGROUND;
static const char DENIED[] = "NOPERM No permissions to access a key";

/* Replies to each batch: those with the wire number `refused` are refused. Returns how many batches there were. */
static int reply_to_all(uint64_t refused, const char *error) {
    struct command *batch;
    int batches = 0;
    while ((batch = rig_send(BACKGROUND)) != NULL) {
        bool has_refused = false;
        for (uint32_t i = 0; i < batch->batch_count; i++) {
            has_refused = has_refused || batch->batch[i].id == refused;
        }
        if (has_refused) {
            rig_error(BACKGROUND, error);
        } else {
            static const int64_t left[] = {1, 1, 1, 1, 1, 1, 1, 1};
            rig_integers(BACKGROUND, left, batch->batch_count);
        }
        rig_pass(0); /* what is divided is renewed at once */
        batches++;
    }
    return batches;
}

static void one_forbidden_name_does_not_cost_the_others(void) {
    static const char *const errors[] = {DENIED, "CROSSSLOT Keys in request don't hash to the same slot"};
    for (int i = 0; i < 2; i++) {
        rig_open();
        const struct hold *holds[8];
        for (int j = 0; j < 8; j++) {
            holds[j] = rig_grant((const char[]){(char)('a' + j), 0}, 1);
        }
        uint64_t refused = holds[5]->id;
        rig_pass(RIG_LEASE_MS / 3 * MILLISECOND);
        CHECK_EQ_INT(reply_to_all(refused, errors[i]), 7); /* of 8; 4 and 4; 2 and 2; 1 and 1 */
        for (int j = 0; j < 8; j++) {
            CHECK(j == 5 || holds[j]->deadline == lease_deadline(rig.now, RIG_LEASE_MS));
        }
        while (rig.engine.stats.lost == 0) {
            rig_pass(100 * MILLISECOND);
            int batches = reply_to_all(refused, errors[i]);
            CHECK(batches <= 4); /* in the same groups, and the refused one by itself */
        }
        CHECK_EQ_INT(rig.engine.stats.held, 7);
        CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), 1);
        for (int j = 0; j < 8; j++) {
            const char name[] = {(char)('a' + j), 0};
            if (j == 5) {
                CHECK_EQ_INT(rig_release(name, 1)->status, REDLATCH_LOST);
            } else {
                rig_end(name, 1);
            }
        }
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

/* Others are due when it is repeated. */
static void a_hold_that_was_refused_by_itself_spoils_no_batch(void) {
    rig_open();
    const struct hold *hold = rig_grant("a", 1);
    rig_pass(RIG_LEASE_MS / 3 * MILLISECOND);
    CHECK_EQ_INT(reply_to_all(hold->id, DENIED), 1);
    rig_grant("b", 1);
    rig_grant("c", 1);
    for (int64_t passed = 0; passed < RIG_LEASE_MS / 2; passed += 100) {
        rig_pass(100 * MILLISECOND);
        const struct command *batch = rig_send(BACKGROUND);
        CHECK(!batch || batch->batch_count == (batch->batch[0].hold == hold ? 1 : 2));
        if (batch && batch->batch[0].hold == hold) {
            rig_error(BACKGROUND, DENIED);
        } else if (batch) {
            rig_integers(BACKGROUND, (const int64_t[]){1, 1}, 2);
        }
    }
    CHECK_EQ_INT(rig.engine.stats.renewals, 2);
    rig_end("a", 1);
    rig_end("b", 1);
    rig_end("c", 1);
    rig_drain_background();
    RIG_CLOSE();
}

/* A hold with a fixed lease is only queried. While it is repeated, it joins no batch of others. */
static void a_refused_query_is_repeated_less_often(void) {
    rig_open();
    const struct hold *hold = rig_grant_for("a", 1, 3600000);
    rig_grant_for("b", 1, 3600000);
    for (int i = 0; i < 2; i++) { /* both are verified after a connection ended */
        rig_lost(PIPELINE_CALLERS);
        rig_ready(PIPELINE_CALLERS, RESOLVED_BY_KILL);
        rig_pass(0);
        CHECK_EQ_INT(reply_to_all(hold->id, DENIED), i == 0 ? 3 : 2);
        rig_pass(RIG_LEASE_MS / 2 * MILLISECOND);
        CHECK_EQ_INT(reply_to_all(hold->id, DENIED), 1);
    }
    int sent = 0;
    for (int64_t passed = 0; passed < 3000 * SECOND; passed += SECOND) {
        rig_pass(SECOND);
        sent += reply_to_all(hold->id, DENIED);
    }
    CHECK_EQ_INT(sent, 3000 / (RIG_LEASE_MS / 2000));
    rig_end("a", 1);
    rig_end("b", 1);
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
    RUN(a_hold_that_was_refused_by_itself_spoils_no_batch);
    RUN(a_refused_query_is_repeated_less_often);
    RUN(a_batch_that_is_refused_as_a_whole_stays_one);
    return unit_done();
}
