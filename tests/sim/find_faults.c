/* Plants faults one at a time: in the machines, into which the planted faults are compiled, and in the scripts.
 * SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

#include "kind_limits.h"
#include "planted.h"
#include "planted_edits.h"
#include "redlatch.h"
#include "simulate.h"

static const char *const fault_names[FAULT_COUNT] = {
    [FAULT_NO_MARGIN] = "safe time longer than the lease",
    [FAULT_DEADLINE_FROM_REPLY] = "validity counted from the reply",
    [FAULT_RENEWAL_OUTLIVES_RELEASE] = "renewal outlives release",
    [FAULT_NO_RECHECK_AFTER_SUBSCRIBE] = "no look after subscribing",
    [FAULT_NO_RECHECK_AFTER_RESUBSCRIBE] = "no look after subscribing again",
    [FAULT_NO_COMPENSATION] = "abandoned acquire not undone",
    [FAULT_NO_HAND_OVER_COMPENSATION] = "abandoned hand-over not undone",
    [FAULT_ABANDONED_IS_RESENT] = "abandoned acquire sent again",
    [FAULT_RESOLVED_TOO_EARLY] = "sent again before the KILL",
    [FAULT_END_UNSEEN] = "the end of an unused connection not seen",
    [FAULT_HOLDS_NOT_VERIFIED] = "holds not verified when a connection ends",
    [FAULT_REENTRY_NOT_INTENDED] = "re-entry states one level too few",
    [FAULT_RESENT_RELEASE_IS_LOST] = "resent release says LOST",
    [FAULT_LATE_GRANT_IS_KEPT] = "late grant believed",
    [FAULT_BACKGROUND_COUNTS_LATE] = "release in the background counts late",
    [FAULT_MESSAGE_MISSED_WHILE_REQUESTING] = "message missed while asking",
    [FAULT_NEXT_WAITER_SLEEPS] = "next waiter sleeps",
    [FAULT_HAND_OVER_UNBOUNDED] = "hand-over without bound",
    [FAULT_EXTEND_BEFORE_ANSWERED] = "extend before renewals are settled",
    [FAULT_WIRE_ID_REUSED] = "wire id used again",
    [FAULT_LOSS_UNREPORTED] = "loss not reported",
    [FAULT_POSITION_IS_KEPT] = "place kept by who gave up",
    [FAULT_POSITIONS_NOT_REFRESHED] = "places not refreshed",
    [FAULT_UPGRADE_WAITS] = "a reader who would write is not refused",
    [FAULT_READERS_OVERTAKE] = "readers overtake a writer of their process",
    [FAULT_READERS_WOKEN_ONE_BY_ONE] = "readers at the front go one by one",
    [FAULT_SPINS_SELDOM] = "a waiter that polls looks seldom",
    [FAULT_UNCONFIRMED_AFTER_DEADLINE] = "an unconfirmed release ignores the deadline",
    [FAULT_UNCONFIRMED_UNREPORTED] = "a failed unconfirmed release is not reported",
    [FAULT_SET_UNDONE_IN_PART] = "set undone in part",
    [FAULT_MINORITY_IS_ENOUGH] = "one server too few is enough",
    [FAULT_ROUND_KEPT_IN_PART] = "what a failed round was granted is kept",
    [FAULT_LATE_ROUND_IS_BELIEVED] = "a round that took longer than the lease is believed",
    [FAULT_WATCH_IS_FORGOTTEN] = "who waits for a member is not told of its release",
    [FAULT_MINORITY_LOSES_ALL] = "the loss of a minority is told as one of the whole",
    [FAULT_RECORD_OF_LATE_COPY_REUSED] = "a late copy finds another's record",
    [FAULT_RECORD_WITHOUT_ANSWER_REUSED] = "a command without an answer finds another's record",
    [FAULT_NOT_VERIFIED_AFTER_MOVE] = "holds not verified on another server",
    [FAULT_MISSING_IS_KEPT] = "a missing hold is kept",
    [FAULT_MISSING_UNREPORTED] = "a missing hold is not reported",
    [FAULT_WAITERS_NOT_MOVED] = "waiters do not ask another server",
    [FAULT_LEASE_OF_LEFT_SERVER] = "a lease of the server that was left is believed",
    [FAULT_RENEWAL_IN_DOUBT_COUNTS] = "a renewal without an answer counts",
    [FAULT_RELEASE_OF_MISSING_IS_OK] = "a release of what is lost says OK",
    [FAULT_RELEASE_IN_DOUBT_IS_DROPPED] = "a release in doubt is dropped",
    [FAULT_EARLIER_ACKNOWLEDGEMENT] = "an earlier acknowledgement counts",
    [FAULT_ONE_REPLICA_TOO_FEW] = "one replica too few is enough",
    [FAULT_UNACKNOWLEDGED_GRANT_IS_KEPT] = "a grant without replicas is believed",
    [FAULT_UNACKNOWLEDGED_IS_LEFT] = "a grant without replicas is not given back",
    [FAULT_UNACKNOWLEDGED_RENEWAL] = "a renewal without replicas counts",
    [FAULT_UNACKNOWLEDGED_EXTENSION] = "an extension without replicas counts",
    [FAULT_UNACKNOWLEDGED_HAND_OVER] = "a lock is handed over without replicas",
    [FAULT_COMMANDS_NOT_RETURNED] = "no command is left to give back with",
    [FAULT_PERMITS_GIVEN_BACK_IN_PART] = "permits given back in part",
    [FAULT_NAMES_STAY] = "names lead to the old node of their slot",
    [FAULT_MOVE_NOT_NOTED] = "a lease of the old node is believed",
    [FAULT_WAITERS_STAY] = "waiters do not ask the new node",
    [FAULT_CHANNELS_STAY] = "channels are heard at the old node",
    [FAULT_CHANNEL_ENDS_UNSEEN] = "the end of a channel is not seen",
    [FAULT_OLD_NODE_CONFIRMS] = "the old node confirms a channel",
    [FAULT_UNSENT_STAYS] = "unsent commands wait for the old node",
    [FAULT_DOUBT_STAYS] = "commands in doubt wait for the old node",
    [FAULT_DOUBT_COUNTS_AS_CARRIED_OUT] = "in doubt when redirected: taken as run",
    [FAULT_DOUBT_COUNTS_AS_REFUSED] = "in doubt when redirected: taken as not run",
    [FAULT_UNDOS_STAY] = "an undo goes to the old node",
    [FAULT_REDIRECTED_COUNTS_AS_SENT] = "a redirected command counts as run",
    [FAULT_REDIRECTED_TO_SAME] = "a redirected command goes to the same node",
    [FAULT_REDIRECTED_IS_DROPPED] = "a redirected command is dropped",
    [FAULT_REDIRECTED_WITHOUT_END] = "redirections without end are followed",
    [FAULT_REDIRECTION_RETURNED] = "the last redirection is returned",
    [FAULT_IMPORT_UNANNOUNCED] = "ASKING is forgotten",
    [FAULT_ASK_IS_MOVED] = "ASK is taken for MOVED",
    [FAULT_OLD_ASK_IS_FOLLOWED] = "an old ASK is followed",
    [FAULT_TRYAGAIN_IS_FATAL] = "TRYAGAIN ends a call",
    [FAULT_CLUSTERDOWN_IS_FATAL] = "CLUSTERDOWN ends a call",
    [FAULT_NON_LOCAL_IS_FATAL] = "a key on another node ends a call",
    [FAULT_SLOTS_IN_ONE_RENEWAL] = "a renewal has names of two slots",
    [FAULT_OLD_TOPOLOGY_BELIEVED] = "an old topology undoes a redirection",
    [FAULT_CHANNELS_FOLLOW_WITHOUT_PAUSE] = "channels are followed without a pause",
};

/* Returns whether one of the seeds fails, as one must. Prints the first that fails. */
static bool is_found(const struct options *options, struct script_set *scripts, const char *name) {
    struct world_common *world = simulate_until_failure(options, scripts);
    if (world) {
        printf("%-45s  seed %-6llu %s (%s)\n", name, (unsigned long long)world->seed, world->rule, world->detail);
    } else {
        printf("%-45s  NOT FOUND in %llu seeds\n", name, (unsigned long long)options->seeds);
    }
    fflush(stdout);
    free(world);
    return world != NULL;
}

/* Returns whether one of the seeds fails with a mistake in a script. */
static bool is_edit_found(const struct options *options, const struct planted_edit *edit) {
    struct script_set scripts;
    bool planted = script_set_open(&scripts, options->scripts) &&
                   (edit->instead ? script_set_edit(&scripts, edit->script, edit->part, edit->instead)
                                  : script_set_replace(&scripts, edit->script, redis_text(edit->part)));
    if (!planted) {
        fprintf(stderr, "%s: can not be planted\n", edit->name);
        exit(1);
    }
    bool found = is_found(options, &scripts, edit->name);
    script_set_close(&scripts);
    return found;
}

/* Returns whether a fault that is planted for `planted_kind` is played with `kind`. Mixed sets have members of several
 * kinds. */
static bool is_of(int planted_kind, uint8_t kind) {
    bool mixed = planted_kind == REDLATCH_MUTEX || planted_kind == REDLATCH_FENCED || planted_kind == REDLATCH_PLAIN;
    return kind == KINDS_MIXED ? mixed : planted_kind == kind;
}

/* Plants a fault into the machines. A client reads its number from the environment when it is opened. */
static void plant(enum planted_fault fault) {
    char number[12];
    snprintf(number, sizeof number, "%d", fault);
    setenv("REDLATCH_PLANTED_FAULT", number, 1);
    planted_fault = fault;
}

/* Returns whether a fault is planted in this scenario. Sets are played only with the fault that sets alone can have,
 * because all other faults are found sooner without sets. The same holds for failovers and clusters. */
static bool is_meant(const struct options *options, enum planted_fault fault) {
    if (options->cluster) {
        return cluster_can_have(options->kind, fault);
    }
    if (options->failover) {
        return failover_can_have(options->kind, fault);
    }
    return !kind_cannot_have(options->kind, fault) && options->sets == (fault == FAULT_SET_UNDONE_IN_PART);
}

int find_planted_faults(const struct options *options, struct script_set *scripts) {
    int missed = 0;
    for (int fault = FAULT_NONE + 1; fault < FAULT_COUNT; fault++) {
        if (is_meant(options, (enum planted_fault)fault)) {
            plant((enum planted_fault)fault);
            missed += !is_found(options, scripts, fault_names[fault]);
        }
    }
    plant(FAULT_NONE);
    for (const struct planted_edit *const *table = options->scenario->planted; *table; table++) {
        for (const struct planted_edit *edit = *table; edit->name; edit++) {
            missed += is_of(edit->kind, options->kind) && !is_edit_found(options, edit);
        }
    }
    printf("%d faults not found\n", missed);
    return missed ? 1 : 0;
}
