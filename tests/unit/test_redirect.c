/* Commands that a server redirects: MOVED, for good, and ASK, for one command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cluster_fixture.h"
#include "lease.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

/* A server redirects the oldest command of a pipeline: to the server of its route or, in the last of these functions,
 * to an importer. They return whether the engine follows. */
static bool redirected_on(struct server *server, enum pipeline_role pipeline) {
    bool follows = engine_redirected(&rig.engine, &server->pipelines[pipeline], rig.now);
    rig_turn();
    return follows;
}

static bool redirected(struct server *server) {
    return redirected_on(server, PIPELINE);
}

static bool redirected_to_importer(struct server *server, struct server *importer) {
    bool follows = engine_redirected_to_importer(&rig.engine, &server->pipelines[PIPELINE], importer, rig.now);
    rig_turn();
    return follows;
}

static bool import_replied(struct server *importer) {
    return engine_import_replied(&importer->pipelines[PIPELINE]);
}

/* --------------------------------------------------------------------------------------------------------- MOVED -- */

static void a_redirected_command_goes_on(void) {
    rig_open_cluster();
    struct call *call = rig_acquire("{x}a", 1);
    struct call *other = rig_acquire("{x}b", 1);
    struct command *command = send_to(first, PIPELINE);
    send_to(first, PIPELINE);
    rig_pass(SECOND);
    move("{x}a", second);
    CHECK(redirected(first));
    CHECK(send_to(first, PIPELINE) == NULL && first->pipelines[PIPELINE].in_flight == 1);
    CHECK(redirected(first));                                          /* in order */
    CHECK(send_to(second, PIPELINE) == command && !command->repeated); /* it was not carried out */
    CHECK(send_to(second, PIPELINE) == other->operation->command);
    rig_nil(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->hold->deadline, lease_deadline(rig.now, RIG_LEASE_MS));
    CHECK_EQ_INT(rig.engine.stats.resends, 0);
    CHECK_EQ_INT(rig.engine.stats.round_trips, 4);
    end_at(second, "{x}a", 1);
    end_at(second, "{x}b", 1);
    RIG_CLOSE();
}

/* The command may have run when it was sent first. */
static void a_repeated_command_stays_one(void) {
    rig_open_cluster();
    rig_grant_for("a", 1, 60000);
    struct call *call = rig_release("a", 1);
    lose(first);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(send_to(first, PIPELINE)->repeated);
    move("a", second);
    CHECK(redirected(first));
    CHECK(send_to(second, PIPELINE)->repeated);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    RIG_CLOSE();
}

/* Once before and once after the undo was sent. */
static void an_abandoned_command_is_dropped_and_undone(void) {
    for (int sent = 0; sent <= 1; sent++) {
        rig_open_cluster();
        struct call *call = rig_acquire("a", 1);
        uint64_t id = send_to(first, PIPELINE)->id;
        rig_abort(call, REDLATCH_TIMEOUT);
        CHECK(!sent || send_to(first, PIPELINE)->kind == COMMAND_RELEASE);
        move("a", second);
        reroute(first);
        CHECK(redirected(first));
        if (sent) {
            CHECK(send_to(second, PIPELINE) == NULL);
            CHECK(redirected(first));
        }
        struct command *undo = send_to(second, PIPELINE);
        CHECK(undo && undo->kind == COMMAND_RELEASE && undo->id == id && undo->count == 0);
        CHECK(send_to(second, PIPELINE) == NULL && send_to(first, PIPELINE) == NULL);
        rig.at = second;
        rig_integer(PIPELINE, 0);
        RIG_CLOSE();
    }
}

static void one_abandoned_after_its_redirection_is_not_sent(void) {
    rig_open_cluster();
    struct call *call = rig_acquire("a", 1);
    send_to(first, PIPELINE);
    move("a", second);
    CHECK(redirected(first));
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_UNREACHABLE); /* nothing was sent that may have been carried out */
    CHECK(send_to(second, PIPELINE) == NULL);
    RIG_CLOSE();
}

static void a_hand_over_is_redirected(void) {
    rig_open_cluster();
    rig_grant_for("a", 1, 60000);
    struct call *waiter = parked("a", 2);
    rig_release("a", 1);
    struct command *command = send_to(first, PIPELINE);
    CHECK(command->kind == COMMAND_HAND_OVER);
    move("a", second);
    CHECK(redirected(first));
    CHECK(send_to(second, PIPELINE) == command && command->kind == COMMAND_HAND_OVER);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(waiter->status, REDLATCH_OK);
    end_at(second, "a", 2);
    RIG_CLOSE();
}

/* The receiver gave up, and the undo of its id may have been sent already. A hand-over that ran after that undo would
 * lock the name for nobody. */
static void a_hand_over_to_nobody_becomes_a_release(void) {
    rig_open_cluster();
    struct hold *hold = rig_grant_for("a", 1, 60000);
    uint64_t id = hold->id;
    struct call *waiter = parked("a", 2);
    struct call *release = rig_release("a", 1);
    struct command *command = send_to(first, PIPELINE);
    CHECK(command->kind == COMMAND_HAND_OVER);
    uint64_t successor = command->successor;
    rig_abort(waiter, REDLATCH_TIMEOUT);
    struct command *undo = send_to(first, PIPELINE);
    CHECK(!undo || undo->id == successor);
    move("a", second);
    CHECK(redirected(first));
    CHECK(!undo || redirected(first));
    struct command *released = send_to(second, PIPELINE);
    CHECK(released && released->kind == COMMAND_RELEASE && released->id == id && released->count == 0);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    while (send_to(second, PIPELINE)) {
        rig_integer(PIPELINE, 0);
    }
    CHECK(send_to(first, PIPELINE) == NULL);
    RIG_CLOSE();
}

static const char MOVED[] = "MOVED 1 127.0.0.1:7001";

/* Redirects a command to its own server until the engine gives up. Returns how many redirections it followed. */
static int redirect_for_ever(struct server *server, enum pipeline_role pipeline) {
    int count = 0;
    while (send_to(server, pipeline) && redirected_on(server, pipeline)) {
        count++;
    }
    return count;
}

static void a_try_ends_when_nodes_do_not_agree(void) {
    rig_open_cluster();
    struct call *call = rig_try("a", 1);
    CHECK_EQ_INT(redirect_for_ever(first, PIPELINE), 8);
    rig_error(PIPELINE, MOVED);
    CHECK_EQ_INT(call->status, REDLATCH_NOT_WRITABLE);
    CHECK(redlatch_status_is_retryable(call->status));
    CHECK_STR(call->answer.error_text, "CLUSTERDOWN the nodes do not agree who serves the slot");
    CHECK(send_to(first, PIPELINE) == NULL); /* nothing was done that is to be undone */
    RIG_CLOSE();
}

static void a_renewal_is_redirected_anew_after_its_connection_broke(void) {
    rig_open_cluster();
    rig_acquire("a", 1);
    send_to(first, PIPELINE);
    rig_nil(PIPELINE);
    rig_pass(RIG_LEASE_MS / 3 * MILLISECOND);
    for (uint32_t i = 0; i <= rig.batches; i++) { /* until the first batch is used again */
        CHECK_EQ_INT(redirect_for_ever(first, PIPELINE_BACKGROUND), 8);
        rig_lost(PIPELINE_BACKGROUND);
        rig_ready(PIPELINE_BACKGROUND, RESOLVED_BY_KILL);
        rig_pass(0);
    }
    rig_drain_background();
    end_at(first, "a", 1);
    RIG_CLOSE();
}

static void a_waiter_waits_until_nodes_agree(void) {
    rig_open_cluster();
    struct call *call = rig_acquire("a", 1);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_INT(redirect_for_ever(first, PIPELINE), 8); /* each request may be redirected as often */
        rig_error(PIPELINE, i == 1 ? "ASK 1 127.0.0.1:7001" : MOVED);
        CHECK_EQ_INT(call->operation->phase, PHASE_PAUSED);
        CHECK_EQ_INT(call->operation->transient_error, REDLATCH_NOT_WRITABLE);
        rig_pass(200 * MILLISECOND);
    }
    CHECK(send_to(first, PIPELINE));
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    end_at(first, "a", 1);
    call = rig_acquire("a", 1); /* but it does not wait for ever */
    for (int64_t until = rig.now + RIG_UNREACHABLE_MS * MILLISECOND; !call->done && rig.now <= until;) {
        if (send_to(first, PIPELINE)) {
            rig_error(PIPELINE, MOVED);
        }
        rig_pass(100 * MILLISECOND);
    }
    CHECK_EQ_INT(call->status, REDLATCH_NOT_WRITABLE);
    RIG_CLOSE();
}

static void a_release_is_repeated_until_nodes_agree(void) {
    rig_open_cluster();
    rig_grant_for("a", 1, 60000);
    struct call *call = rig_release("a", 1);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_INT(redirect_for_ever(first, PIPELINE), 8);
        rig_error(PIPELINE, MOVED);
        CHECK(!call->done);
        rig_pass(200 * MILLISECOND);
    }
    struct command *again = send_to(first, PIPELINE);
    CHECK(again && !again->repeated);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    RIG_CLOSE();
}

static void questions_end_when_nodes_do_not_agree(void) {
    static const enum operation_kind kinds[] = {OPERATION_QUERY, OPERATION_FORCE};
    for (int i = 0; i < 2; i++) {
        rig_open_cluster();
        struct call *call = rig_call(kinds[i], "a", 1);
        rig_start(call);
        CHECK_EQ_INT(redirect_for_ever(first, PIPELINE), 8);
        rig_error(PIPELINE, MOVED);
        CHECK_EQ_INT(call->status, REDLATCH_NOT_WRITABLE);
        RIG_CLOSE();
    }
}

/* The URL names no cluster: the error text is the server's. */
static void without_a_cluster_a_redirection_is_an_error(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, MOVED);
    CHECK_EQ_INT(call->status, REDLATCH_UNSUPPORTED);
    CHECK_STR(call->answer.error_text, MOVED);
    RIG_CLOSE();
}

/* ----------------------------------------------------------------------------------------------------------- ASK -- */

static void one_command_goes_to_the_importer(void) {
    rig_open_cluster();
    struct call *call = rig_acquire("{x}a", 1);
    struct call *other = rig_acquire("{x}b", 1);
    struct command *command = send_to(first, PIPELINE);
    send_to(first, PIPELINE);
    CHECK(!import_replied(second)); /* nothing was sent to it */
    CHECK(redirected_to_importer(first, second));
    CHECK(command->importing && command->server == second);
    CHECK(send_to(second, PIPELINE) == command && !command->repeated);
    CHECK(import_replied(second)); /* the reply to ASKING */
    CHECK(!import_replied(second));
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig.at = first;
    rig_nil(PIPELINE); /* the other key was still there */
    CHECK_EQ_INT(other->status, REDLATCH_OK);
    struct call *release = rig_release("{x}a", 1); /* goes first to the server of the slot, as all do */
    CHECK(send_to(second, PIPELINE) == NULL);
    CHECK(!send_to(first, PIPELINE)->importing);
    CHECK(redirected_to_importer(first, second));
    CHECK(send_to(second, PIPELINE)->importing && import_replied(second));
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    end_at(first, "{x}b", 1);
    RIG_CLOSE();
}

/* A reply is that to ASKING only if the oldest command in flight was sent with ASKING. */
static void replies_of_others_come_before_that_of_the_import(void) {
    rig_open_cluster();
    rig_name("there");
    move("there", second);
    struct call *before = rig_acquire("there", 1);
    struct call *call = rig_acquire("a", 1);
    send_to(first, PIPELINE);
    send_to(second, PIPELINE);
    CHECK(redirected_to_importer(first, second));
    send_to(second, PIPELINE);
    CHECK(!import_replied(second));
    rig_nil(PIPELINE);
    CHECK_EQ_INT(before->status, REDLATCH_OK);
    CHECK(import_replied(second));
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    end_at(second, "there", 1);
    move("a", second); /* the slot has arrived */
    end_at(second, "a", 1);
    RIG_CLOSE();
}

/* The receiver gives up while the hand-over waits for the importer. The undo of the receiver's id is not behind it
 * then: it is sent to the server of the slot. Once as the first sending, once as a repetition. */
static void a_hand_over_to_nobody_is_not_imported(void) {
    for (int repeated = 0; repeated <= 1; repeated++) {
        rig_open_cluster();
        uint64_t id = rig_grant_for("a", 1, 60000)->id;
        struct call *waiter = parked("a", 2);
        struct call *release = rig_release("a", 1);
        if (repeated) {
            lose(first);
            rig_ready(PIPELINE, RESOLVED_BY_KILL);
        }
        uint64_t successor = send_to(first, PIPELINE)->successor;
        CHECK(redirected_to_importer(first, second));
        rig_abort(waiter, REDLATCH_TIMEOUT);
        struct command *undo = send_to(first, PIPELINE);
        CHECK(undo && undo->id == successor && send_to(first, PIPELINE) == NULL);
        rig_integer(PIPELINE, 0);
        struct command *released = send_to(second, PIPELINE);
        CHECK(released && released->kind == COMMAND_RELEASE && released->id == id && released->count == 0);
        CHECK(import_replied(second));
        rig_integer(PIPELINE, 1);
        CHECK_EQ_INT(release->status, REDLATCH_OK);
        CHECK(send_to(first, PIPELINE) == NULL && send_to(second, PIPELINE) == NULL);
        CHECK(rig_name("a")->queue == NULL || rig_name("a")->queue->handing == NULL);
        RIG_CLOSE();
    }
}

/* The importer refuses ASKING, or the old server has the slot after all. */
static void an_importer_may_redirect_back(void) {
    rig_open_cluster();
    struct call *call = rig_acquire("a", 1);
    struct command *command = send_to(first, PIPELINE);
    CHECK(redirected_to_importer(first, second));
    send_to(second, PIPELINE);
    CHECK(import_replied(second));
    CHECK(redirected(second));
    CHECK(send_to(first, PIPELINE) == command && !command->importing);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    end_at(first, "a", 1);
    RIG_CLOSE();
}

static void two_servers_do_not_redirect_for_ever(void) {
    rig_open_cluster();
    struct call *call = rig_try("a", 1);
    for (int i = 0; i < 4; i++) {
        send_to(first, PIPELINE);
        CHECK(redirected_to_importer(first, second));
        send_to(second, PIPELINE);
        CHECK(import_replied(second));
        CHECK(redirected(second));
    }
    send_to(first, PIPELINE);
    CHECK(!redirected_to_importer(first, second));
    rig_error(PIPELINE, "ASK 1 127.0.0.1:7001");
    CHECK_EQ_INT(call->status, REDLATCH_NOT_WRITABLE);
    RIG_CLOSE();
}

static void a_script_that_the_importer_lacks(void) {
    rig_open_cluster();
    struct call *call = rig_acquire("a", 1);
    send_to(first, PIPELINE);
    CHECK(redirected_to_importer(first, second));
    send_to(second, PIPELINE);
    CHECK(import_replied(second));
    rig_error(PIPELINE, "NOSCRIPT No matching script.");
    struct command *text = send_to(second, PIPELINE); /* without ASKING, so that it is redirected once more */
    CHECK(text && text->as_text && !text->importing);
    CHECK(redirected(second));
    CHECK(send_to(first, PIPELINE)->as_text);
    CHECK(redirected_to_importer(first, second));
    CHECK(send_to(second, PIPELINE)->as_text && import_replied(second));
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    move("a", second);
    end_at(second, "a", 1);
    RIG_CLOSE();
}

static void what_an_importer_got_is_requested_anew_when_its_connection_breaks(void) {
    for (int replied = 0; replied <= 1; replied++) {
        rig_open_cluster();
        struct call *call = rig_acquire("a", 1);
        send_to(first, PIPELINE);
        CHECK(redirected_to_importer(first, second));
        struct command *command = send_to(second, PIPELINE);
        CHECK(!replied || import_replied(second));
        rig_lost(PIPELINE);
        reroute(second);
        CHECK(send_to(second, PIPELINE) == NULL && !import_replied(second));
        CHECK(send_to(first, PIPELINE) == command && !command->importing && command->repeated);
        rig_nil(PIPELINE);
        CHECK_EQ_INT(call->status, REDLATCH_OK);
        end_at(first, "a", 1);
        RIG_CLOSE();
    }
}

static void what_an_importer_has_not_got_goes_back_when_there_is_no_connection(void) {
    rig_open_cluster();
    struct call *call = rig_acquire("a", 1);
    struct call *of_importer = rig_acquire("there", 1);
    rig.routes[rig_name("there")->slot] = second;
    engine_routes_changed(&rig.engine, rig.now);
    reroute(first);
    struct command *command = send_to(first, PIPELINE);
    CHECK(redirected_to_importer(first, second));
    reroute(second); /* other slots moved */
    CHECK(command->importing && command->server == second);
    engine_importer_failed(&rig.engine, &second->pipelines[PIPELINE]);
    CHECK(send_to(first, PIPELINE) == command && !command->importing && !command->repeated);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK(send_to(second, PIPELINE) == of_importer->operation->command); /* it has waited for its own server */
    rig_nil(PIPELINE);
    end_at(second, "there", 1);
    end_at(first, "a", 1);
    RIG_CLOSE();
}

/* While the connection to the importer was made, the slot may have moved on and come back. The importer would then run
 * the command although it does not have the key. */
static void what_waited_for_a_connection_to_the_importer_goes_back(void) {
    rig_open_cluster();
    struct call *call = rig_acquire("a", 1);
    struct command *command = send_to(first, PIPELINE);
    CHECK(redirected_to_importer(first, second));
    rig.at = second;
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(send_to(second, PIPELINE) == NULL);
    CHECK(send_to(first, PIPELINE) == command && !command->importing && !command->repeated);
    CHECK(redirected_to_importer(first, second));
    CHECK(send_to(second, PIPELINE) == command && import_replied(second));
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    end_at(first, "a", 1);
    RIG_CLOSE();
}

/* The importer serves the slot before the command is sent to it. The command stays there, and needs no ASKING. */
static void a_slot_that_arrives_meanwhile(void) {
    rig_open_cluster();
    struct call *call = rig_acquire("a", 1);
    struct command *command = send_to(first, PIPELINE);
    CHECK(redirected_to_importer(first, second));
    move("a", second);
    reroute(first);
    reroute(second);
    engine_importer_failed(&rig.engine, &second->pipelines[PIPELINE]);
    CHECK(send_to(second, PIPELINE) == command && !import_replied(second));
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    end_at(second, "a", 1);
    RIG_CLOSE();
}

static void what_was_abandoned_does_not_go_to_the_importer(void) {
    rig_open_cluster();
    struct call *call = rig_acquire("a", 1);
    uint64_t id = send_to(first, PIPELINE)->id;
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK(redirected_to_importer(first, second));
    CHECK(send_to(second, PIPELINE) == NULL);
    struct command *undo = send_to(first, PIPELINE); /* the undo is redirected like any other command */
    CHECK(undo && undo->kind == COMMAND_RELEASE && undo->id == id);
    CHECK(redirected_to_importer(first, second));
    CHECK(send_to(second, PIPELINE) == undo && import_replied(second));
    rig_integer(PIPELINE, 0);
    RIG_CLOSE();
}

int main(void) {
    RUN(a_redirected_command_goes_on);
    RUN(a_repeated_command_stays_one);
    RUN(an_abandoned_command_is_dropped_and_undone);
    RUN(one_abandoned_after_its_redirection_is_not_sent);
    RUN(a_hand_over_is_redirected);
    RUN(a_hand_over_to_nobody_becomes_a_release);
    RUN(a_try_ends_when_nodes_do_not_agree);
    RUN(a_renewal_is_redirected_anew_after_its_connection_broke);
    RUN(a_waiter_waits_until_nodes_agree);
    RUN(a_release_is_repeated_until_nodes_agree);
    RUN(questions_end_when_nodes_do_not_agree);
    RUN(without_a_cluster_a_redirection_is_an_error);
    RUN(one_command_goes_to_the_importer);
    RUN(replies_of_others_come_before_that_of_the_import);
    RUN(a_hand_over_to_nobody_is_not_imported);
    RUN(an_importer_may_redirect_back);
    RUN(two_servers_do_not_redirect_for_ever);
    RUN(a_script_that_the_importer_lacks);
    RUN(what_an_importer_got_is_requested_anew_when_its_connection_breaks);
    RUN(what_an_importer_has_not_got_goes_back_when_there_is_no_connection);
    RUN(what_waited_for_a_connection_to_the_importer_goes_back);
    RUN(a_slot_that_arrives_meanwhile);
    RUN(what_was_abandoned_does_not_go_to_the_importer);
    return unit_done();
}
