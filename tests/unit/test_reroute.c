/* Commands whose names moved to another server of the cluster, as the topology says: the rows of the table at the head
 * of reroute.c about commands that were not sent and commands in doubt.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cluster_fixture.h"
#include "lease.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

static void unsent_commands_follow_in_order(void) {
    rig_open_cluster();
    rig_name("there");
    move("there", second);
    struct call *calls[] = {rig_acquire("there", 1), rig_acquire("{x}a", 1), rig_acquire("stays", 1),
                            rig_acquire("{x}b", 1)};
    move("{x}a", second);
    CHECK(rig_name("{x}b")->server == second); /* of the same slot */
    reroute(first);
    CHECK(send_to(first, PIPELINE) == calls[2]->operation->command);
    CHECK(send_to(first, PIPELINE) == NULL);
    const int order[] = {0, 1, 3};
    for (int i = 0; i < 3; i++) {
        struct command *command = send_to(second, PIPELINE);
        CHECK(command && command == calls[order[i]]->operation->command && !command->repeated &&
              command->server == second);
    }
    CHECK(send_to(second, PIPELINE) == NULL);
    for (int i = 0; i < 3; i++) {
        rig_nil(PIPELINE);
    }
    rig.at = first;
    rig_nil(PIPELINE);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ_INT(calls[i]->status, REDLATCH_OK);
    }
    end_at(first, "stays", 1);
    end_at(second, "there", 1);
    end_at(second, "{x}a", 1);
    end_at(second, "{x}b", 1);
    RIG_CLOSE();
}

static void what_is_in_doubt_is_sent_before_what_was_not_sent(void) {
    rig_open_cluster();
    struct call *call = rig_acquire("{x}a", 1);
    struct call *stays = rig_acquire("stays", 1);
    lose(first);
    struct command *in_doubt = call->operation->command;
    struct call *later = rig_acquire("{x}b", 1);
    move("{x}a", second);
    rig_pass(SECOND);
    reroute(first);
    CHECK(send_to(second, PIPELINE) == in_doubt && in_doubt->repeated);
    CHECK(send_to(second, PIPELINE) == later->operation->command && !later->operation->command->repeated);
    rig_nil(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->hold->deadline, lease_deadline(rig.now, RIG_LEASE_MS));
    CHECK_EQ_INT(rig.engine.stats.resends, 1);
    rig.at = first;
    CHECK(!stays->done && send_to(first, PIPELINE) == NULL); /* this one waits for its own server */
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(send_to(first, PIPELINE) == stays->operation->command);
    rig_nil(PIPELINE);
    end_at(first, "stays", 1);
    end_at(second, "{x}a", 1);
    end_at(second, "{x}b", 1);
    RIG_CLOSE();
}

/* The hold may have been released before the slot moved, or the new server may never have had it. */
static void a_release_in_doubt_may_find_nothing(void) {
    rig_open_cluster();
    rig_grant_for("a", 1, 60000);
    struct call *call = rig_release("a", 1);
    lose(first);
    move("a", second);
    reroute(first);
    CHECK(send_to(second, PIPELINE)->kind == COMMAND_RELEASE);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    RIG_CLOSE();
}

static void a_forced_release_in_doubt_is_not_repeated(void) {
    rig_open_cluster();
    struct call *call = rig_call(OPERATION_FORCE, "a", 1);
    rig_start(call);
    lose(first);
    move("a", second);
    reroute(first);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    CHECK(send_to(second, PIPELINE) == NULL);
    RIG_CLOSE();
}

static struct call *add_permits(void) {
    rig.lock_kind = REDLATCH_SEMAPHORE;
    struct call *call = rig_call(OPERATION_CHANGE, "c", 0);
    call->operation->change = SEMAPHORE_ADD;
    call->operation->amount = 4;
    rig_start(call);
    return call;
}

/* A repeat without the record would add twice. */
static void a_change_is_repeated_only_while_its_record_lives(void) {
    for (int late = 0; late <= 1; late++) {
        rig_open_cluster();
        struct call *call = add_permits();
        lose(first);
        rig_ready(PIPELINE, RESOLVED_BY_KILL); /* to be sent again, and the next connection breaks at once */
        rig_lost(PIPELINE);
        rig.now += (late ? 60 : 10) * SECOND;
        move("c", second);
        reroute(first);
        struct command *again = send_to(second, PIPELINE);
        CHECK_EQ_INT(again != NULL, !late);
        if (again) {
            rig_integer(PIPELINE, 9);
        }
        CHECK_EQ_INT(call->status, late ? REDLATCH_NO_REPLY : REDLATCH_OK);
        RIG_CLOSE();
    }
}

static void a_hand_over_in_doubt_goes_on(void) {
    rig_open_cluster();
    rig_grant_for("a", 1, 60000);
    struct call *waiter = parked("a", 2);
    struct call *release = rig_release("a", 1);
    CHECK(lose(first)->kind == COMMAND_HAND_OVER);
    move("a", second);
    reroute(first);
    CHECK(send_to(second, PIPELINE)->kind == COMMAND_HAND_OVER);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    CHECK_EQ_INT(waiter->status, REDLATCH_OK);
    end_at(second, "a", 2);
    RIG_CLOSE();
}

static void every_pipeline_is_rerouted(void) {
    rig_open_cluster();
    struct call *calls[PIPELINE_COUNT];
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        char name[] = {'{', 'x', '}', (char)('a' + i), 0};
        calls[i] = rig_call(OPERATION_ACQUIRE, name, 1);
        calls[i]->operation->pipeline = (uint8_t)i;
        rig_start(calls[i]);
    }
    move("{x}a", second);
    reroute(first);
    rig.at = second;
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        CHECK(rig_send((enum pipeline_role)i) == calls[i]->operation->command);
        rig_nil((enum pipeline_role)i);
        char name[] = {'{', 'x', '}', (char)('a' + i), 0};
        end_at(second, name, 1);
    }
    RIG_CLOSE();
}

int main(void) {
    RUN(unsent_commands_follow_in_order);
    RUN(what_is_in_doubt_is_sent_before_what_was_not_sent);
    RUN(a_release_in_doubt_may_find_nothing);
    RUN(a_forced_release_in_doubt_is_not_repeated);
    RUN(a_change_is_repeated_only_while_its_record_lives);
    RUN(a_hand_over_in_doubt_goes_on);
    RUN(every_pipeline_is_rerouted);
    return unit_done();
}
