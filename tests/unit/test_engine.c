/* The engine's interface: queries, inspections, force releases, commands about an owner's id, and pipelines that cannot
 * be connected.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

static struct call *start(enum operation_kind kind) {
    struct call *call = rig_call(kind, "a", 1);
    rig_start(call);
    return call;
}

/* A question, and the text that it took from the reply. */
struct requested {
    struct question question;
    char text[16];
    bool no_memory;
};

static bool take(struct question *question, const char *text, size_t size) {
    struct requested *requested = (struct requested *)(void *)question;
    memcpy(requested->text, text, size);
    return !requested->no_memory;
}

static const struct argument_part words[] = {{"a", 1}};
static struct requested requested;

static struct call *inspect(bool no_memory) {
    requested = (struct requested){.question = {.arguments = words, .key_count = 1, .take = take},
                                   .no_memory = no_memory};
    struct call *call = rig_call(OPERATION_INSPECT, "a", 0);
    call->operation->question = &requested.question;
    rig_start(call);
    return call;
}

static void an_inspection_hands_its_answer_to_the_question(void) {
    rig_open();
    struct call *call = inspect(false);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_INSPECT);
    struct reply reply = {.kind = REPLY_STRING, .text = "1:0", .size = 3};
    rig_reply(PIPELINE, &reply);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK_STR(requested.text, "1:0");
    call = inspect(true);
    rig_send(PIPELINE);
    rig_reply(PIPELINE, &reply);
    CHECK_EQ_INT(call->status, REDLATCH_NO_MEMORY);
    call = inspect(false);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_PROTOCOL);
    RIG_CLOSE();
}

/* The question may be gone once its caller gave up. So it is not written again after its connection broke. */
static void an_inspection_given_up_is_not_written_again(void) {
    rig_open();
    struct call *call = inspect(false);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    CHECK(engine_first_to_send(&rig.engine, engine_pipeline(&rig.engine, PIPELINE), rig.now) == NULL);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

/* No route leads the command away from a node that is gone. It would keep the connections of that node alive. */
static void an_inspection_given_up_does_not_wait_for_its_server(void) {
    for (int given_up_first = 0; given_up_first < 2; given_up_first++) {
        rig_open();
        struct call *call = inspect(false);
        rig_send(PIPELINE);
        if (given_up_first) {
            rig_abort(call, REDLATCH_TIMEOUT);
        }
        rig_lost(PIPELINE);
        rig_failed(PIPELINE, REDLATCH_UNREACHABLE);
        if (!given_up_first) {
            CHECK(!call->done); /* its server may come back */
            rig_abort(call, REDLATCH_TIMEOUT);
            rig_failed(PIPELINE, REDLATCH_UNREACHABLE);
        }
        CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
        CHECK(list_is_empty(&engine_pipeline(&rig.engine, PIPELINE)->in_doubt));
        RIG_CLOSE();
    }
}

/* Replies to a query with a TTL, an owner and a count. */
static void answer_query(const char *owner, const char *count) {
    const struct reply elements[] = {
        {.kind = REPLY_INTEGER, .integer = 1234},
        {.kind = REPLY_STRING, .text = owner, .size = strlen(owner)},
        {.kind = REPLY_STRING, .text = count, .size = strlen(count)},
    };
    struct reply reply = {.kind = REPLY_ARRAY, .elements = elements, .count = 3};
    rig_reply(PIPELINE, &reply);
}

static void a_query_tells_who_holds_the_lock(void) {
    rig_open();
    struct call *call = start(OPERATION_QUERY);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_QUERY);
    answer_query("f4c1:7", "12");
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK(call->answer.locked);
    CHECK_EQ_INT(call->answer.ttl_ms, 1234);
    CHECK_EQ_INT(call->answer.count, 12);
    CHECK_STR(call->answer.owner, "f4c1:7");
    RIG_CLOSE();
}

/* If several owners may hold the kind at once, or if its waiters queue on the server, the reply counts holders and
 * waiters. */
static void a_query_counts_holders_and_waiters(void) {
    for (int holders = 0; holders < 3; holders++) {
        struct reply elements[] = {
            {.kind = REPLY_INTEGER, .integer = 1234},       {.kind = REPLY_STRING, .text = "f4c1:7", .size = 6},
            {.kind = REPLY_STRING, .text = "1", .size = 1}, {.kind = REPLY_INTEGER, .integer = holders},
            {.kind = REPLY_INTEGER, .integer = 5},
        };
        struct reply reply = {.kind = REPLY_ARRAY, .elements = elements, .count = 5};
        rig_open();
        struct call *call = start(OPERATION_QUERY);
        rig_send(PIPELINE);
        rig_reply(PIPELINE, &reply);
        CHECK_EQ_INT(call->status, REDLATCH_OK);
        CHECK_EQ_INT(call->answer.locked, holders > 0);
        CHECK_EQ_INT(call->answer.holders, holders);
        CHECK_EQ_INT(call->answer.waiters, 5);
        CHECK_STR(call->answer.owner, holders > 0 ? "f4c1:7" : "");
        RIG_CLOSE();
    }
}

static void a_query_of_a_free_lock_says_so(void) {
    rig_open();
    struct call *call = start(OPERATION_QUERY);
    rig_send(PIPELINE);
    rig_integers(PIPELINE, NULL, 0);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK(!call->answer.locked);
    CHECK_STR(call->answer.owner, "");
    RIG_CLOSE();
}

static void strange_owners_and_counts_do_no_harm(void) {
    char owner[200];
    memset(owner, 'x', sizeof owner - 1);
    owner[sizeof owner - 1] = '\0';
    rig_open();
    struct call *call = start(OPERATION_QUERY);
    rig_send(PIPELINE);
    answer_query(owner, "99999999999999999999999999");
    CHECK_EQ_INT(strlen(call->answer.owner), sizeof call->answer.owner - 1);
    CHECK_EQ_INT(call->answer.count, 999999999999999999);
    call = start(OPERATION_QUERY);
    rig_send(PIPELINE);
    answer_query("", "3x");
    CHECK_EQ_INT(call->answer.count, 3);
    RIG_CLOSE();
}

static void a_query_that_is_answered_otherwise_fails(void) {
    const int64_t two[] = {1, 2};
    rig_open();
    struct call *call = start(OPERATION_QUERY);
    rig_send(PIPELINE);
    rig_integers(PIPELINE, two, 2);
    CHECK_EQ_INT(call->status, REDLATCH_PROTOCOL);
    call = start(OPERATION_QUERY);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "WRONGTYPE Operation against a key holding the wrong kind of value");
    CHECK_EQ_INT(call->status, REDLATCH_WRONG_TYPE);
    RIG_CLOSE();
}

/* Both are repeated while the name's slot migrates and its keys are on two nodes. Any other error ends them. */
static void a_query_and_a_force_release_wait_for_a_migration(void) {
    static const enum operation_kind kinds[] = {OPERATION_QUERY, OPERATION_FORCE};
    static const char *const errors[] = {
        "TRYAGAIN Multiple keys request during rehashing of slot",
        "ERR Script attempted to access a non local key in a cluster node script: f3, on @user_script:3."};
    rig_open();
    for (size_t i = 0; i < 4; i++) {
        struct call *call = start(kinds[i % 2]);
        for (int tries = 0; tries < 5; tries++) {
            CHECK(rig_send(PIPELINE) == call->operation->command);
            rig_error(PIPELINE, errors[i / 2]);
            CHECK(!call->done && rig_send(PIPELINE) == NULL);
            rig_pass(100 * MILLISECOND);
        }
        rig_send(PIPELINE);
        rig_error(PIPELINE, "LOADING Redis is loading the dataset in memory");
        CHECK_EQ_INT(call->status, REDLATCH_LOADING);
        call = start(kinds[i % 2]);
        rig_send(PIPELINE);
        rig_error(PIPELINE, errors[i / 2]);
        rig_abort(call, REDLATCH_TIMEOUT);
        CHECK_EQ_INT(call->status, REDLATCH_NOT_WRITABLE);
    }
    RIG_CLOSE();
}

static void a_force_release_tells_whether_there_was_a_lock(void) {
    rig_open();
    for (int there = 0; there < 2; there++) {
        struct call *call = start(OPERATION_FORCE);
        CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_FORCE);
        rig_integer(PIPELINE, there);
        CHECK_EQ_INT(call->status, REDLATCH_OK);
        CHECK_EQ_INT(call->forced, there);
    }
    struct call *call = start(OPERATION_FORCE);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_PROTOCOL);
    RIG_CLOSE();
}

static struct call *start_of_owner(enum operation_kind kind) {
    struct call *call = rig_call(kind, "a", 0);
    call->operation->owner_id = "u:1";
    call->operation->lease_ms = 5000;
    rig_start(call);
    return call;
}

/* This also holds for a command that was in doubt before. */
static void what_waits_for_a_migration_is_not_sent_for_nobody(void) {
    rig_open();
    struct call *call = start_of_owner(OPERATION_RELEASE_OWNER);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(rig_send(PIPELINE) == call->operation->command);
    rig_error(PIPELINE, "TRYAGAIN Multiple keys request during rehashing of slot");
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_NOT_WRITABLE);
    rig_pass(SECOND);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void the_hold_of_an_owner_is_ended_or_extended(void) {
    rig_open();
    for (int there = 0; there < 2; there++) {
        for (int extend = 0; extend < 2; extend++) {
            struct call *call = start_of_owner(extend ? OPERATION_EXTEND_OWNER : OPERATION_RELEASE_OWNER);
            struct command *command = rig_send(PIPELINE);
            CHECK_EQ_INT(command->kind, extend ? COMMAND_EXTEND_OWNER : COMMAND_RELEASE_OWNER);
            CHECK_EQ_INT(command->lease_ms, 5000);
            rig_integer(PIPELINE, there ? 3 : 0);
            CHECK_EQ_INT(call->status, REDLATCH_OK);
            CHECK_EQ_INT(call->result, there);
        }
    }
    struct call *call = start_of_owner(OPERATION_RELEASE_OWNER);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_PROTOCOL);
    call = start_of_owner(OPERATION_RELEASE_OWNER);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "WRONGTYPE Operation against a key holding the wrong kind of value");
    CHECK_EQ_INT(call->status, REDLATCH_WRONG_TYPE);
    RIG_CLOSE();
}

/* A repeated release that finds no hold cannot say whether its first sending ended one. A repeated extension says what
 * it found. */
static void a_repeat_that_finds_no_hold_says_nothing(void) {
    static const struct {
        enum operation_kind kind;
        int64_t reply;
        int64_t result;
    } rows[] = {{OPERATION_RELEASE_OWNER, 0, RESULT_UNKNOWN},
                {OPERATION_RELEASE_OWNER, 1, 1},
                {OPERATION_EXTEND_OWNER, 0, 0},
                {OPERATION_EXTEND_OWNER, 1, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rig_open();
        struct call *call = start_of_owner(rows[i].kind);
        rig_send(PIPELINE);
        rig_lost(PIPELINE);
        rig_ready(PIPELINE, RESOLVED_BY_KILL);
        rig_send(PIPELINE);
        rig_integer(PIPELINE, rows[i].reply);
        CHECK_EQ_INT(call->status, REDLATCH_OK);
        CHECK_EQ_INT(call->result, rows[i].result);
        RIG_CLOSE();
    }
}

/* The command is written from memory of the caller, which has given up. */
static void one_of_an_owner_that_was_given_up_is_not_repeated(void) {
    rig_open();
    struct call *call = start_of_owner(OPERATION_RELEASE_OWNER);
    rig_send(PIPELINE);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void one_given_up_leaves_nothing(void) {
    rig_open();
    struct call *call = start(OPERATION_QUERY);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_UNREACHABLE);
    CHECK(rig_send(PIPELINE) == NULL);
    call = start(OPERATION_FORCE);
    rig_send(PIPELINE);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void who_does_not_wait_fails_when_there_is_no_connection(void) {
    rig_open();
    rig_grant("held", 1);
    struct call *query = start(OPERATION_QUERY);
    struct call *attempt = rig_try("b", 1);
    struct call *extension = rig_extend("held", 1, 1000);
    struct call *acquire = rig_acquire("c", 1);
    struct call *release = rig_release("held", 1);
    rig_failed(PIPELINE_HOST, REDLATCH_UNREACHABLE); /* another pipeline */
    CHECK(!query->done);
    rig_failed(PIPELINE, REDLATCH_UNREACHABLE);
    CHECK_EQ_INT(query->status, REDLATCH_UNREACHABLE);
    CHECK_EQ_INT(attempt->status, REDLATCH_UNREACHABLE);
    CHECK_EQ_INT(extension->status, REDLATCH_UNREACHABLE);
    CHECK(!acquire->done && !release->done);
    CHECK_EQ_INT(acquire->operation->unusable_since, rig.now);
    rig_pass(RIG_UNREACHABLE_MS * MILLISECOND); /* operations that wait fail, too, if it lasts this long */
    CHECK_EQ_INT(acquire->status, REDLATCH_UNREACHABLE);
    CHECK(release->done);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE); /* which goes on without its caller */
    rig_integer(PIPELINE, 1);
    rig_drain_background();
    RIG_CLOSE();
}

static void what_was_sent_waits_for_the_next_connection(void) {
    rig_open();
    struct call *attempt = rig_try("a", 1);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig_failed(PIPELINE, REDLATCH_UNREACHABLE);
    CHECK(!attempt->done);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(attempt->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void all_fail_when_it_can_not_pass_by_itself(void) {
    rig_open();
    struct call *calls[3] = {rig_acquire("a", 1), rig_acquire("a", 2), rig_acquire("b", 1)};
    rig_failed(PIPELINE, REDLATCH_AUTHENTICATION);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_INT(calls[i]->status, REDLATCH_AUTHENTICATION);
    }
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

/* For example, credentials were refused that are about to be replaced. */
static void who_waits_goes_on_if_it_may_pass(void) {
    rig_open();
    struct call *waiter = rig_acquire("a", 1);
    struct call *attempt = rig_try("b", 1);
    engine_pipeline_failed(&rig.engine, engine_pipeline(&rig.engine, PIPELINE), REDLATCH_AUTHENTICATION, true, rig.now);
    rig_turn();
    CHECK(!waiter->done);
    CHECK_EQ_INT(attempt->status, REDLATCH_AUTHENTICATION);
    rig_pass(RIG_UNREACHABLE_MS * MILLISECOND);
    CHECK_EQ_INT(waiter->status, REDLATCH_AUTHENTICATION);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

/* The holder's release is a hand-over whose connection breaks. The receiver fails with that connection, too. */
static void a_receiver_does_not_wait_for_ever_for_its_hand_over(void) {
    for (int transient = 0; transient < 2; transient++) {
        rig_open();
        rig_grant_for("a", 1, 60000);
        struct call *waiter = rig_acquire("a", 2);
        rig_send(PIPELINE);
        rig_integer(PIPELINE, 60000);
        rig_release("a", 1);
        rig_send(PIPELINE);
        rig_lost(PIPELINE);
        CHECK_EQ_INT(waiter->operation->transient_error, REDLATCH_NO_REPLY);
        rig_failed(PIPELINE, transient ? REDLATCH_UNREACHABLE : REDLATCH_AUTHENTICATION);
        if (transient) {
            CHECK(!waiter->done);
            rig_pass(RIG_UNREACHABLE_MS * MILLISECOND);
        }
        CHECK_EQ_INT(waiter->status, transient ? REDLATCH_NO_REPLY : REDLATCH_AUTHENTICATION); /* it may have run */
        rig_ready(PIPELINE, RESOLVED_BY_KILL);
        while (rig_send(PIPELINE)) {
            rig_integer(PIPELINE, 0);
        }
        RIG_CLOSE();
    }
}

/* No thread sleeps in an asynchronous operation, so the engine's timer ends it. The status depends on whether the
 * command was sent. */
static void an_asynchronous_question_ends_with_its_deadline(void) {
    static const enum operation_kind kinds[] = {OPERATION_QUERY, OPERATION_FORCE, OPERATION_CHANGE};
    for (int sent = 0; sent < 2; sent++) {
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
            rig_open();
            struct call *call = rig_call(kinds[i], "a", 0);
            call->operation->asynchronous = true;
            call->operation->change = SEMAPHORE_COUNT;
            call->operation->wait_until = rig.now + 50 * MILLISECOND;
            rig_start(call);
            if (sent) {
                rig_send(PIPELINE);
            }
            rig_pass(49 * MILLISECOND);
            CHECK(!call->done);
            rig_pass(MILLISECOND);
            CHECK_EQ_INT(call->status, sent ? REDLATCH_NO_REPLY : REDLATCH_UNREACHABLE);
            if (sent) {
                rig_integer(PIPELINE, 1); /* late: nobody waits for it */
            }
            CHECK(rig_send(PIPELINE) == NULL);
            RIG_CLOSE();
        }
    }
}

static void random_numbers_stay_below_their_bound(void) {
    rig_open();
    uint32_t seen = 0;
    for (int i = 0; i < 1000; i++) {
        uint32_t number = engine_random(&rig.engine, 10);
        CHECK(number < 10);
        seen |= UINT32_C(1) << number;
    }
    CHECK_EQ_INT(seen, 0x3ff);
    CHECK_EQ_INT(engine_random(&rig.engine, 0), 0);
    RIG_CLOSE();
}

int main(void) {
    RUN(an_inspection_hands_its_answer_to_the_question);
    RUN(an_inspection_given_up_is_not_written_again);
    RUN(an_inspection_given_up_does_not_wait_for_its_server);
    RUN(a_query_tells_who_holds_the_lock);
    RUN(a_query_counts_holders_and_waiters);
    RUN(a_query_of_a_free_lock_says_so);
    RUN(strange_owners_and_counts_do_no_harm);
    RUN(a_query_that_is_answered_otherwise_fails);
    RUN(a_query_and_a_force_release_wait_for_a_migration);
    RUN(what_waits_for_a_migration_is_not_sent_for_nobody);
    RUN(a_force_release_tells_whether_there_was_a_lock);
    RUN(the_hold_of_an_owner_is_ended_or_extended);
    RUN(a_repeat_that_finds_no_hold_says_nothing);
    RUN(one_of_an_owner_that_was_given_up_is_not_repeated);
    RUN(one_given_up_leaves_nothing);
    RUN(who_does_not_wait_fails_when_there_is_no_connection);
    RUN(what_was_sent_waits_for_the_next_connection);
    RUN(all_fail_when_it_can_not_pass_by_itself);
    RUN(who_waits_goes_on_if_it_may_pass);
    RUN(a_receiver_does_not_wait_for_ever_for_its_hand_over);
    RUN(an_asynchronous_question_ends_with_its_deadline);
    RUN(random_numbers_stay_below_their_bound);
    return unit_done();
}
