/* redlatch run: takes a lock, runs a command, gives the lock back.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "run.h"

#include <stdlib.h>

#include "holding.h"
#include "signals.h"

static bool print_what_is_held(const struct holding *holding) {
    char *owners;
    char *tokens;
    bool good = holding_owners(holding, ", ", &owners, &tokens);
    if (good && owners) {
        notice("holds \"%s\" as %s", holding->shown, owners);
    } else if (good) {
        notice("holds permits of \"%s\"", holding->shown);
    }
    free(owners);
    free(tokens);
    return good;
}

/* Sets the environment variables of CMD. Each variable of an outer `run` is replaced or unset. Returns false if there
 * was no memory. */
static bool set_environment(const struct run_options *options, const struct holding *holding) {
    char *owners;
    char *tokens;
    char *names = join_texts(options->names, options->name_count, "\n");
    bool good = holding_owners(holding, "\n", &owners, &tokens) && names && set_variable("REDLATCH_LOCK", names) &&
                set_variable("REDLATCH_OWNER", owners) && set_variable("REDLATCH_TOKEN", tokens) &&
                server_export(&options->server) && set_variable("REDLATCH_KEY_TEMPLATE", options->key_template);
    free(names);
    free(owners);
    free(tokens);
    return good && (!options->verbose || print_what_is_held(holding));
}

/* Releases the lock. If CMD ran and --at-least is not over yet, leaves the lock to end with its lease instead. Returns
 * the exit status. */
static int give_back(const struct run_options *options, struct holding *holding, struct outcome outcome) {
    int64_t left = outcome.ran && !outcome.lost ? options->at_least_ms - (clock_ms() - holding->since) : 0;
    int status = left > 0 ? holding_leave(holding, left) : holding_release(holding);
    if (status == REDLATCH_LOST || status == REDLATCH_NOT_OWNED) { /* perhaps reported already */
        const char *gone = holding->permits ? "a permit" : "it";
        int reason = redlatch_last_reason();
        bool known = reason != REDLATCH_REASON_NONE;
        return outcome.lost ? outcome.exit_status
                            : complain(STATUS_LOST, "lost \"%s\": %s was lost before its release%s%s", holding->shown,
                                       gone, known ? ": " : "", known ? holding_lost_text(reason) : "");
    }
    if (status != REDLATCH_OK) { /* CMD ran under the lock: its status counts */
        notice("%s; %s", redlatch_last_error(),
               holding->semaphore ? "its permits stay acquired" : "the lock ends with its lease");
    } else if (options->verbose) {
        notice(left > 0 ? "leaves \"%s\" until its lease ends" : "released \"%s\"", holding->shown);
    }
    return outcome.exit_status;
}

struct outcome run_under_lock(const struct run_options *options, redlatch_client *client, struct holding *holding) {
    signals_stop_cancelling();
    int end_requested = signals_end_requested();
    if (end_requested) { /* it came too late to cancel the acquire */
        holding_release(holding);
        return (struct outcome){.exit_status = signals_ending(end_requested), .end_requested = end_requested};
    }
    struct outcome outcome = {.exit_status = STATUS_SYSTEM};
    if (set_environment(options, holding)) {
        outcome = supervise(options, client, holding);
    } else {
        complain(STATUS_SYSTEM, "no memory for CMD's environment");
    }
    outcome.exit_status = give_back(options, holding, outcome);
    return outcome;
}

static int acquire_and_run(const struct run_options *options, redlatch_client *client, struct holding *holding,
                           redlatch_cancel *cancel) {
    if (!signals_catch(cancel)) {
        return complain(STATUS_SYSTEM, "no descriptor can be opened");
    }
    int exit_status;
    if (!holding_acquire_or_complain(holding, client, cancel, &exit_status)) {
        return exit_status;
    }
    return run_under_lock(options, client, holding).exit_status;
}

int command_run(int argc, char **argv) {
    struct run_options options = {.wait_ms = REDLATCH_FOREVER,
                                  .max_hold_ms = REDLATCH_FOREVER,
                                  .grace_ms = 5000,
                                  .conflict_status = STATUS_DEFAULT};
    int exit_status;
    if (!run_read_options(&options, argc, argv, &exit_status)) {
        return exit_status;
    }
    return run_with_holding(&options, acquire_and_run);
}
