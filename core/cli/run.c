/* redlatch run: takes a lock, runs a command, gives the lock back.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "signals.h"

static const char usage[] =
    "usage: redlatch run [OPTION...] NAME [--] CMD [ARGUMENT...]\n"
    "\n"
    "Runs CMD while it holds the lock NAME, and ends as CMD does.\n"
    "\n"
    "  -n, --nonblock        does not wait: status 1 if somebody else holds the lock\n"
    "  -w, --wait SECONDS    waits that long at most\n"
    "  -E, --conflict-exit-code CODE   the status when the lock was not obtained in time, instead of 1\n"
    "      --lease SECONDS   how long the lock outlives this process; renewed while CMD runs (30)\n"
    "      --max-hold SECONDS  ends CMD after this time\n"
    "      --min-hold SECONDS  keeps the lock taken at least this long, also when CMD has ended\n"
    "      --grace SECONDS   from TERM to KILL when the lock was lost (5)\n"
    "  -s, --shared          the read lock of a read-write lock, as --kind read\n"
    "      --kind KIND       the kind of lock: mutex; fenced, whose token CMD sees in REDLATCH_TOKEN; fair, which goes\n"
    "                        to those who wait in the order in which they came; spin; plain; read, beside other\n"
    "                        readers; write, alone (mutex)\n"
    "      --key-template TEXT   of a plain lock: the key, with {name} once in the place of the name\n"
    "      --verbose         says on standard error what happens\n"
    "  -u, --url URL         the server; else REDIS_URL, else redis://127.0.0.1:6379/0\n"
    "      --prefix TEXT     put before the name\n"
    "  -h, --help            this text\n"
    "\n"
    "CMD sees REDLATCH_LOCK and REDLATCH_OWNER. Status: CMD's own, 128 + N if signal N ended it (INT and QUIT end\n"
    "redlatch itself), 1 not obtained in time, 64 usage, 69 server unreachable, 70 lock lost, 126 CMD cannot be run,\n"
    "127 no such CMD.\n";

static const struct option long_options[] = {
    {"nonblock", no_argument, NULL, 'n'},
    {"nb", no_argument, NULL, 'n'},
    {"wait", required_argument, NULL, 'w'},
    {"timeout", required_argument, NULL, 'w'},
    {"conflict-exit-code", required_argument, NULL, 'E'},
    {"shared", no_argument, NULL, 's'},
    {"lease", required_argument, NULL, OPTION_LEASE},
    {"max-hold", required_argument, NULL, OPTION_MAX_HOLD},
    {"min-hold", required_argument, NULL, OPTION_MIN_HOLD},
    {"grace", required_argument, NULL, OPTION_GRACE},
    {"kind", required_argument, NULL, OPTION_KIND},
    {"key-template", required_argument, NULL, OPTION_KEY_TEMPLATE},
    {"verbose", no_argument, NULL, OPTION_VERBOSE},
    PLACE_OPTIONS,
};

/* One option; false after a complaint, or when there is nothing more to do. */
static bool take_option(struct run_options *options, int letter, int *status_out) {
    *status_out = STATUS_USAGE;
    switch (letter) {
    case 'n':
        options->wait_ms = 0;
        return true;
    case 'w':
        return read_seconds("-w", optarg, 0, &options->wait_ms);
    case 'E':
        return read_number("-E", optarg, 0, 255, &options->conflict_status);
    case 's':
        options->kind = REDLATCH_READ;
        return true;
    case OPTION_LEASE:
        return read_seconds("--lease", optarg, 30, &options->lease_ms);
    case OPTION_MAX_HOLD:
        return read_seconds("--max-hold", optarg, 1, &options->max_hold_ms);
    case OPTION_MIN_HOLD:
        return read_seconds("--min-hold", optarg, 0, &options->min_hold_ms);
    case OPTION_GRACE:
        return read_seconds("--grace", optarg, 0, &options->grace_ms);
    case OPTION_KIND:
        return read_kind("--kind", optarg, &options->kind);
    case OPTION_KEY_TEMPLATE:
        options->key_template = optarg;
        return true;
    case OPTION_VERBOSE:
        options->verbose = true;
        return true;
    default:
        return take_place_option(&options->place, letter, "run", usage, status_out);
    }
}

static bool read_arguments(struct run_options *options, int argc, char **argv, int *status_out) {
    int letter;
    while ((letter = getopt_long(argc, argv, "+nw:E:su:h", long_options, NULL)) != -1) {
        if (!take_option(options, letter, status_out)) {
            return false;
        }
    }
    *status_out = STATUS_USAGE;
    char **rest = argv + optind;
    if (!rest[0] || !rest[0][0]) {
        complain(STATUS_USAGE, "run: expected the name of a lock");
        return false;
    }
    options->name = *rest++;
    bool parted = *rest && strcmp(*rest, "--") == 0;
    rest += parted;
    if (!*rest || (!parted && **rest == '-')) {
        complain(STATUS_USAGE, "run: %s after the name: expected a command (options stand before the name)",
                 *rest ? *rest : "nothing");
        return false;
    }
    options->command = rest;
    return true;
}

/* What CMD is told; nothing is left of a `run` around this one. */
static bool set_environment(const struct run_options *options, redlatch_lock *lock) {
    redlatch_hold hold = {.struct_size = sizeof hold};
    if (redlatch_lock_hold(lock, 0, &hold) != REDLATCH_OK) {
        return false;
    }
    char token[24];
    snprintf(token, sizeof token, "%llu", (unsigned long long)hold.token);
    int failed = setenv("REDLATCH_LOCK", options->name, 1) | setenv("REDLATCH_OWNER", hold.owner, 1) |
                 (hold.token ? setenv("REDLATCH_TOKEN", token, 1) : unsetenv("REDLATCH_TOKEN"));
    if (options->verbose) {
        complain(0, "holds \"%s\" as %s", options->name, hold.owner);
    }
    return failed == 0;
}

/* Gives the lock back, or leaves it to run out when CMD ran and --min-hold says so. The exit status. */
static int give_back(const struct run_options *options, redlatch_lock *lock, int64_t since, struct outcome outcome) {
    int64_t left = outcome.ran ? options->min_hold_ms - (clock_ms() - since) : 0;
    int status = left > 0 ? redlatch_lock_extend(lock, 0, left) : redlatch_lock_release(lock);
    if (status == REDLATCH_LOST || status == REDLATCH_NOT_OWNED) {
        return complain(STATUS_LOST, "%s", redlatch_last_error());
    }
    if (status != REDLATCH_OK) { /* CMD's work was done under the lock: its status counts */
        complain(0, "%s; the lock runs out by itself", redlatch_last_error());
    } else if (options->verbose) {
        complain(0, left > 0 ? "leaves \"%s\" to run out" : "released \"%s\"", options->name);
    }
    return outcome.exit_status;
}

static int run_locked(const struct run_options *options, redlatch_client *client, redlatch_lock *lock) {
    int64_t since = clock_ms();
    signals_stop_cancelling();
    int asked = signals_asked_to_end();
    if (asked) { /* after the grant, before there was a command */
        redlatch_lock_release(lock);
        return signals_ending(asked);
    }
    struct outcome outcome = {STATUS_SYSTEM, false, false};
    if (set_environment(options, lock)) {
        outcome = mind(options, client, lock);
    } else {
        complain(STATUS_SYSTEM, "no memory for CMD's environment");
    }
    return outcome.lost ? outcome.exit_status : give_back(options, lock, since, outcome);
}

static int acquire_and_run(const struct run_options *options, redlatch_client *client, redlatch_lock *lock,
                           redlatch_cancel *cancel) {
    if (!signals_catch(cancel)) {
        return complain(STATUS_SYSTEM, "no descriptors to be had from the system");
    }
    int64_t begun = clock_ms();
    int status = redlatch_lock_acquire_as(lock, 0, REDLATCH_LEASE_OF_LOCK, options->wait_ms, cancel, REDLATCH_FOREVER);
    if (status == REDLATCH_TIMEOUT) {
        if (options->verbose) {
            complain(0, "%s", redlatch_last_error());
        }
        return options->conflict_status;
    }
    if (status == REDLATCH_CANCELLED) {
        return signals_ending(signals_asked_to_end());
    }
    if (status != REDLATCH_OK) {
        return complain_of(status);
    }
    if (options->verbose) {
        complain(0, "waited %lld ms", (long long)(clock_ms() - begun));
    }
    return run_locked(options, client, lock);
}

/* With a client: the handles that are needed, and their end. */
static int with_client(const struct run_options *options, redlatch_client *client) {
    redlatch_lock_options lock_options;
    redlatch_lock_options_init(&lock_options, sizeof lock_options);
    lock_options.max_hold_ms = options->max_hold_ms;
    lock_options.key_template = options->key_template;
    lock_options.key_template_size = options->key_template ? strlen(options->key_template) : 0;
    redlatch_lock *lock = NULL;
    redlatch_cancel *cancel = NULL;
    int status = redlatch_lock_new(client, options->kind, options->name, strlen(options->name), &lock_options, &lock);
    if (status == REDLATCH_OK) {
        status = redlatch_cancel_new(&cancel);
    }
    int exit_status = status == REDLATCH_OK ? acquire_and_run(options, client, lock, cancel) : complain_of(status);
    signals_block(); /* a handler may use the cancel object no more */
    redlatch_cancel_free(cancel);
    redlatch_lock_free(lock);
    return exit_status;
}

int command_run(int argc, char **argv) {
    struct run_options options = {
        .kind = REDLATCH_MUTEX, .wait_ms = REDLATCH_FOREVER, .max_hold_ms = REDLATCH_FOREVER, .grace_ms = 5000,
        .conflict_status = STATUS_NOT_OBTAINED};
    int exit_status;
    if (!read_arguments(&options, argc, argv, &exit_status)) {
        return exit_status;
    }
    redlatch_client_options client_options;
    redlatch_client_options_init(&client_options, sizeof client_options);
    client_options.release_on_close = 0; /* all is given back, or left to run out, before */
    if (options.lease_ms) {
        client_options.watchdog_lease_ms = options.lease_ms;
    }
    redlatch_client *client;
    int status = open_client(&options.place, &client_options, &client);
    if (status != REDLATCH_OK) {
        return complain_of(status);
    }
    exit_status = with_client(&options, client);
    redlatch_client_free(client);
    return exit_status < 0 ? signals_die(-exit_status) : exit_status;
}
