/* redlatch acquire, release and extend: a lock that stays held from one step of a job to another, while no process
 * renews it. Its lease is fixed.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "found.h"
#include "holding.h"
#include "signals.h"

#define USAGE_OF_SERVER \
    "  -u, --url URL       the server; default: REDIS_URL, or redis://127.0.0.1:6379/0\n" \
    "      --password-file FILE  its first line is the password; default: the URL's, or REDISCLI_AUTH\n" \
    "      --tls-ca-file FILE  CA certificates for a rediss URL; `man redlatch` has the options of TLS\n" \
    "      --prefix TEXT   the prefix of the name\n" \
    "  -h, --help          prints this text\n"

static const char usage_of_acquire[] =
    "usage: redlatch acquire NAME --lease TIME [OPTION...]\n"
    "\n"
    "Acquires the lock NAME and prints its owner id, for jobs whose steps are processes of their own. No process\n"
    "stays behind, and nothing renews the lock: it ends after TIME unless a later step extends or releases it. Where\n"
    "one process lives as long as the lock, use redlatch run.\n"
    "\n"
    "      --lease TIME    how long the lock stays, such as 10m\n"
    "  -n, --nonblock      does not wait: status 1 if another owner holds the lock\n"
    "  -w, --wait TIME     waits at most this long; default: without a deadline\n"
    "      --kind KIND     mutex, fenced, fair, spin, plain, read, write, or permit-semaphore for one permit (mutex)\n"
    "      --limit N       makes the semaphore with N permits unless it exists\n"
    "      --key-template TEXT   the key of a plain lock, with {name} once for the name\n"
    "  -q, --quiet         prints the owner id only\n" USAGE_OF_SERVER;

static const char usage_of_release[] =
    "usage: redlatch release NAME --owner ID [OPTION...]\n"
    "\n"
    "Releases what the owner ID holds of NAME, as redlatch acquire printed it, and nothing else. Status: 0 released,\n"
    "70 ID does not hold it: it was lost before.\n"
    "\n"
    "      --owner ID      the owner id, or the id of a permit\n" USAGE_OF_SERVER;

static const char usage_of_extend[] =
    "usage: redlatch extend NAME --owner ID --lease TIME [OPTION...]\n"
    "\n"
    "Sets the lease of what the owner ID holds of NAME to end TIME from now. Status: 0 extended, 70 ID does not hold\n"
    "it: it was lost before.\n"
    "\n"
    "      --owner ID      the owner id, or the id of a permit\n"
    "      --lease TIME    how long the lock stays from now on, such as 10m\n" USAGE_OF_SERVER;

/* --------------------------------------------------------------------------------------------------------- acquire --
 */

/* Returns whether a kind has a lease and needs a single name only. */
static bool is_acquired_for_steps(int kind) {
    return kind != REDLATCH_GROUP && kind != REDLATCH_LATCH && kind != REDLATCH_SEMAPHORE;
}

static const struct option options_of_acquire[] = {
    {"lease", required_argument, NULL, OPTION_LEASE},
    {"nonblock", no_argument, NULL, 'n'},
    {"nb", no_argument, NULL, 'n'},
    {"wait", required_argument, NULL, 'w'},
    {"timeout", required_argument, NULL, 'w'},
    {"kind", required_argument, NULL, OPTION_KIND},
    {"limit", required_argument, NULL, OPTION_LIMIT},
    {"key-template", required_argument, NULL, OPTION_KEY_TEMPLATE},
    {"quiet", no_argument, NULL, 'q'},
    SERVER_OPTIONS,
};

static bool take_option_of_acquire(struct run_options *options, int letter, int *status_out) {
    *status_out = STATUS_USAGE;
    switch (letter) {
    case OPTION_LEASE:
        return read_duration("--lease", optarg, 1, SECONDS_MAX, &options->fixed_lease_ms);
    case 'n':
        options->nonblock = true;
        return true;
    case 'w':
        return read_duration("-w", optarg, 0, SECONDS_MAX, &options->wait_ms);
    case OPTION_KIND:
        return read_kind("--kind", optarg, is_acquired_for_steps, &options->kind);
    case OPTION_LIMIT:
        return read_number("--limit", optarg, 1, REDLATCH_PERMITS_MAX, &options->limit);
    case OPTION_KEY_TEMPLATE:
        options->key_template = optarg;
        return true;
    case 'q':
        options->quiet = true;
        return true;
    default:
        return take_server_option(&options->server, letter, usage_of_acquire, status_out);
    }
}

/* Releases what was just acquired: the user does not get its owner id. */
static int give_up(struct holding *holding, int exit_status) {
    int status = holding_release(holding);
    if (status != REDLATCH_OK) {
        notice("%s; the lock ends with its lease", redlatch_last_error());
    }
    return exit_status;
}

static int print_owner(const struct run_options *options, struct holding *holding) {
    char *owners;
    char *tokens;
    if (!holding_owners(holding, "\n", &owners, &tokens)) {
        free(owners);
        free(tokens);
        return give_up(holding, complain(STATUS_SYSTEM, "no memory for the owner id"));
    }
    printf("%s\n", owners);
    int exit_status = finish_output(STATUS_GOOD);
    if (exit_status != STATUS_GOOD) {
        exit_status = give_up(holding, exit_status);
    } else if (!options->quiet) {
        char lease[32];
        text_duration(options->fixed_lease_ms, lease);
        notice("\"%s\" is held for %s; nothing renews it: redlatch extend and redlatch release take --owner %s",
               holding->shown, lease, owners);
    }
    free(owners);
    free(tokens);
    return exit_status;
}

static int acquire_and_print(const struct run_options *options, redlatch_client *client, struct holding *holding,
                             redlatch_cancel *cancel) {
    signal(SIGPIPE, SIG_IGN); /* if the reader of the id is gone, the output fails */
    if (!signals_catch(cancel)) {
        return complain(STATUS_SYSTEM, "no descriptor can be opened");
    }
    int exit_status;
    if (!holding_acquire_or_complain(holding, client, cancel, &exit_status)) {
        return exit_status;
    }
    signals_stop_cancelling();
    int end_requested = signals_end_requested();
    return end_requested ? give_up(holding, signals_ending(end_requested)) : print_owner(options, holding);
}

/* Reads the command line. Returns false if the command is to exit with *status_out. */
static bool read_acquire(struct run_options *options, int argc, char **argv, int *status_out) {
    int letter;
    while ((letter = next_option(argc, argv, ":nw:qu:h", options_of_acquire, "acquire")) != -1) {
        if (!take_option_of_acquire(options, letter, status_out)) {
            return false;
        }
    }
    *status_out = STATUS_USAGE;
    if (!only_name(argc, argv, "acquire")) {
        return false;
    }
    if (!options->fixed_lease_ms) {
        complain(STATUS_USAGE, "acquire: no --lease: expected how long the lock stays, such as --lease 10m");
        return false;
    }
    options->names = argv + optind;
    options->name_count = 1;
    return run_check_options(options);
}

int command_acquire(int argc, char **argv) {
    struct run_options options = {
        .wait_ms = REDLATCH_FOREVER, .max_hold_ms = REDLATCH_FOREVER, .conflict_status = STATUS_DEFAULT};
    int exit_status;
    if (!read_acquire(&options, argc, argv, &exit_status)) {
        return exit_status;
    }
    return run_with_holding(&options, acquire_and_print);
}

/* ----------------------------------------------------------------------------------------------- release and extend --
 */

static const struct option options_of_change[] = {
    {"owner", required_argument, NULL, OPTION_OWNER},
    {"lease", required_argument, NULL, OPTION_LEASE},
    SERVER_OPTIONS,
};

/* Complains that the owner does not hold the name any more. */
static int complain_of_loss(const struct found *found, const char *owner) {
    int width;
    char *name = text_shown(found->name, (size_t)found->facts.name_size, 60, &width);
    char *holder = found_holder_text(found);
    bool of_another = holder && !found_is_held_by(found, owner);
    complain(STATUS_LOST, "lost \"%s\": %s does not hold it; it is %s%s", name ? name : "?", owner,
             of_another ? "held by " : "free", of_another ? holder : "");
    free(holder);
    free(name);
    return STATUS_LOST;
}

static int change(redlatch_client *client, const char *name, const char *owner, int64_t lease_ms) {
    struct found found;
    int exit_status = found_inspect(client, name, owner, &found);
    if (exit_status != STATUS_GOOD) {
        return exit_status;
    }
    bool done;
    int status = owner_change(client, &found, owner, lease_ms, &done);
    if (status != REDLATCH_OK) {
        exit_status = complain_of(status);
    } else if (found.facts.detected_kind == REDLATCH_DETECTED_GROUP) {
        exit_status = complain(
            STATUS_USAGE, "\"%s\" is a group lock: expected a lock that redlatch acquire takes; not changed", name);
    } else if (found.facts.detected_kind == REDLATCH_DETECTED_UNKNOWN) {
        exit_status = complain(STATUS_NO_LOCK, "\"%s\" is a %s, which is no known lock: not changed", name,
                               found.facts.type);
    } else if (!done) {
        exit_status = complain_of_loss(&found, owner);
    }
    redlatch_report_free(found.report);
    return exit_status;
}

/* Runs release or extend; `extends` says which it is. */
static int change_by_owner(int argc, char **argv, bool extends) {
    const char *command = extends ? "extend" : "release";
    struct server_options server = {.url = NULL};
    const char *owner = NULL;
    int64_t lease_ms = 0;
    int exit_status;
    int letter;
    while ((letter = next_option(argc, argv, ":u:h", options_of_change, command)) != -1) {
        if (letter == OPTION_OWNER) {
            owner = optarg;
        } else if (letter == OPTION_LEASE && extends) {
            if (!read_duration("--lease", optarg, 1, SECONDS_MAX, &lease_ms)) {
                return STATUS_USAGE;
            }
        } else if (letter == OPTION_LEASE) {
            return complain(STATUS_USAGE, "release: --lease: expected it with redlatch extend");
        } else if (!take_server_option(&server, letter, extends ? usage_of_extend : usage_of_release, &exit_status)) {
            return exit_status;
        }
    }
    const char *name = only_name(argc, argv, command);
    if (!name) {
        return STATUS_USAGE;
    }
    if (!owner || !*owner || (extends && !lease_ms)) {
        bool no_owner = !owner || !*owner;
        return complain(STATUS_USAGE, "%s: no %s: expected %s", command, no_owner ? "--owner" : "--lease",
                        no_owner ? "the id that redlatch acquire printed" : "a time, such as --lease 10m");
    }
    redlatch_client *client;
    exit_status = open_client(&server, NULL, &client);
    if (exit_status == STATUS_GOOD) {
        exit_status = change(client, name, owner, lease_ms);
        redlatch_client_free(client);
    }
    return exit_status;
}

int command_release(int argc, char **argv) {
    return change_by_owner(argc, argv, false);
}

int command_extend(int argc, char **argv) {
    return change_by_owner(argc, argv, true);
}
