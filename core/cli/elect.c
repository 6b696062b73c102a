/* redlatch elect: of many candidates one leads, and runs a command as long as it leads.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   state     on the server         CMD           what ends it
 *   waits     waits for the lock    does not run  the grant: leads; INT, TERM, HUP or QUIT: exits as if by that signal;
 *                                                 a retryable failure: waits again after a pause; another one: exits
 *   leads     holds it, renewed     runs          CMD ends: releases, exits with its status; a loss: CMD is ended, then
 *                                                 waits, or exits if a signal that ends was passed on to CMD
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>

#include "holding.h"
#include "signals.h"

static const char usage[] =
    "usage: redlatch elect [OPTION...] NAME -- CMD [ARGUMENT...]\n"
    "       redlatch elect [OPTION...] NAME CMD [ARGUMENT...]\n"
    "\n"
    "Runs CMD while this process is the leader: while it holds the lock NAME, for which all candidates wait. When the\n"
    "lock is lost, CMD is ended, and redlatch waits for it again, also while the server is unreachable. When CMD ends\n"
    "by itself, redlatch releases the lock and exits with the status of CMD: then another candidate leads. A TIME is\n"
    "in seconds, or a number with ms, s, m, h or d, such as 5m.\n"
    "\n"
    "      --lease TIME      when a leader dies, another one leads after this; renewed while CMD runs (30)\n"
    "      --grace TIME      the time from TERM to KILL after a loss (5)\n"
    "      --kind KIND       the kind of NAME, the same for all candidates: mutex; fenced, whose token is in\n"
    "                        REDLATCH_TOKEN; fair, granted in the order of arrival (mutex)\n"
    "      --label TEXT      says to others who leads; default: REDLATCH_LABEL\n"
    "      --verbose         prints on standard error what happens\n"
    "  -u, --url URL         the server; default: REDIS_URL, or redis://127.0.0.1:6379/0\n"
    "      --password-file FILE  its first line is the password; default: the URL's, or REDISCLI_AUTH\n"
    "      --tls-ca-file FILE  CA certificates for a rediss URL; `man redlatch` has the options of TLS\n"
    "      --prefix TEXT     the prefix of the name\n"
    "  -h, --help            prints this text\n"
    "\n"
    "CMD gets REDLATCH_LOCK and REDLATCH_OWNER. Status: that of CMD, 128 + N if signal N ended it (INT and QUIT end\n"
    "redlatch itself), 64 usage, 65 the key is something else, 69 server unreachable at the start, 70 lock lost after\n"
    "a signal that ends was passed on to CMD, 126 CMD cannot be run, 127 no such CMD.\n";

static const struct option long_options[] = {
    {"lease", required_argument, NULL, OPTION_LEASE}, {"grace", required_argument, NULL, OPTION_GRACE},
    {"kind", required_argument, NULL, OPTION_KIND},   {"label", required_argument, NULL, OPTION_LABEL},
    {"verbose", no_argument, NULL, OPTION_VERBOSE},   SERVER_OPTIONS,
};

/* The pause between a failed attempt and the next. */
enum { RETRY_MS = 1000 };

static bool is_led_under(int kind) {
    return kind == REDLATCH_MUTEX || kind == REDLATCH_FENCED || kind == REDLATCH_FAIR;
}

/* Stores one option. Returns false if the command is to exit with *status_out. */
static bool take_option(struct run_options *options, int letter, int *status_out) {
    *status_out = STATUS_USAGE;
    switch (letter) {
    case OPTION_LEASE:
        return read_duration("--lease", optarg, 30, LEASE_SECONDS_MAX, &options->lease_ms);
    case OPTION_GRACE:
        return read_duration("--grace", optarg, 0, SECONDS_MAX, &options->grace_ms);
    case OPTION_KIND:
        return read_kind("--kind", optarg, is_led_under, &options->kind);
    case OPTION_LABEL:
        options->label = optarg;
        return true;
    case OPTION_VERBOSE:
        options->verbose = true;
        return true;
    default:
        return take_server_option(&options->server, letter, usage, status_out);
    }
}

static bool read_options(struct run_options *options, int argc, char **argv, int *status_out) {
    int letter;
    while ((letter = next_option(argc, argv, "+:u:h", long_options, "elect")) != -1) {
        if (!take_option(options, letter, status_out)) {
            return false;
        }
    }
    *status_out = STATUS_USAGE;
    if (!run_take_operands(options, argv)) {
        return false;
    }
    if (options->name_count != 1) {
        complain(STATUS_USAGE, "elect: %zu names: expected one", options->name_count);
        return false;
    }
    return run_check_options(options);
}

/* Waits until this process leads. Returns false if the command is to exit with *status_out instead. */
static bool campaign(struct holding *holding, redlatch_cancel *cancel, int *status_out) {
    bool complained = false;
    for (;;) {
        int status = redlatch_lock_acquire_as(holding->lock, 0, REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, cancel);
        if (status == REDLATCH_OK) {
            holding->since = clock_ms();
            return true;
        }
        if (status == REDLATCH_LOST) { /* the lease ended before the reply came */
            holding_release(holding);
        } else if (status != REDLATCH_CANCELLED && !redlatch_status_is_retryable(status)) {
            *status_out = complain_of_wait(status);
            return false;
        } else if (status != REDLATCH_CANCELLED) {
            if (!complained) {
                notice("%s; waits for \"%s\" again", redlatch_last_error(), holding->shown);
            }
            complained = true;
            poll(NULL, 0, RETRY_MS);
        }
        if (signals_end_requested()) {
            *status_out = signals_ending(signals_end_requested());
            return false;
        }
    }
}

/* Runs CMD under the lock. Returns true if the lock was lost and this process is to wait for it again. Otherwise the
 * command is to exit with *status_out. */
static bool lead(const struct run_options *options, redlatch_client *client, struct holding *holding,
                 redlatch_cancel *cancel, int *status_out) {
    struct outcome outcome = run_under_lock(options, client, holding);
    *status_out = outcome.exit_status;
    if (!outcome.lost || outcome.end_requested) {
        return false;
    }
    if (options->verbose) {
        notice("waits for \"%s\" again", holding->shown);
    }
    signals_resume_cancelling(cancel);
    return true;
}

static int campaign_and_lead(const struct run_options *options, redlatch_client *client, struct holding *holding,
                             redlatch_cancel *cancel) {
    if (!signals_catch(cancel)) {
        return complain(STATUS_SYSTEM, "no descriptor can be opened");
    }
    int exit_status = STATUS_GOOD;
    bool goes_on = true;
    while (goes_on) {
        goes_on = campaign(holding, cancel, &exit_status) && lead(options, client, holding, cancel, &exit_status);
    }
    return exit_status;
}

int command_elect(int argc, char **argv) {
    struct run_options options = {.wait_ms = REDLATCH_FOREVER,
                                  .max_hold_ms = REDLATCH_FOREVER,
                                  .grace_ms = 5000,
                                  .conflict_status = STATUS_DEFAULT};
    int exit_status;
    if (!read_options(&options, argc, argv, &exit_status)) {
        return exit_status;
    }
    return run_with_holding(&options, campaign_and_lead);
}
