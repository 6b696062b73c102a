/* The command line of `redlatch run`.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

static const char usage[] =
    "usage: redlatch run [OPTION...] NAME... -- CMD [ARGUMENT...]\n"
    "       redlatch run [OPTION...] NAME CMD [ARGUMENT...]\n"
    "\n"
    "Runs CMD while holding the lock NAME, or all of several, and exits with its status. A TIME is in seconds, or a\n"
    "number with ms, s, m, h or d, such as 5m. Without -- there is one NAME, and no -- among the ARGUMENTs.\n"
    "\n"
    "  -n, --nonblock        does not wait: status 1 if another owner holds the lock\n"
    "  -w, --wait TIME       waits at most this long; default: without a deadline\n"
    "      --once            for a job that many machines start: as -n, but with status 0 and without a message if\n"
    "                        another owner holds the lock\n"
    "  -E, --conflict-exit-code CODE   the status instead of 1 if the lock was not acquired in time\n"
    "      --lease TIME      how long the lock stays if this process dies; renewed while CMD runs (30)\n"
    "      --max-hold TIME   ends CMD after this time\n"
    "      --at-least TIME   holds the lock at least this long, even if CMD ends earlier; also the default of --lease\n"
    "                        if it is longer\n"
    "      --grace TIME      the time from TERM to KILL after a loss (5)\n"
    "  -s, --shared          the same as --kind read\n"
    "      --kind KIND       the kind of NAME: mutex; fenced, whose token is in REDLATCH_TOKEN; fair, granted in\n"
    "                        the order of arrival; spin; plain; read, together with other readers; write, alone;\n"
    "                        semaphore; permit-semaphore, whose permits have leases (mutex)\n"
    "      --permits N       how many permits of a semaphore to acquire (1), of a permit-semaphore at most 1000\n"
    "      --limit N         makes the semaphore with N permits unless it exists\n"
    "      --key-template TEXT   the key of a plain lock, with {name} once for the name\n"
    "      --label TEXT      says to others who holds the lock; default: REDLATCH_LABEL\n"
    "  -q, --quiet           prints nothing if the lock was not acquired in time\n"
    "      --verbose         prints on standard error what happens\n"
    "  -u, --url URL         the server; default: REDIS_URL, or redis://127.0.0.1:6379/0\n"
    "      --password-file FILE  its first line is the password; default: the URL's, or REDISCLI_AUTH\n"
    "      --tls-ca-file FILE  CA certificates for a rediss URL; `man redlatch` has the options of TLS\n"
    "      --prefix TEXT     the prefix of the name\n"
    "  -h, --help            prints this text\n"
    "\n"
    "CMD gets REDLATCH_LOCK and REDLATCH_OWNER, and `redlatch show --mine` in it tells whether all is still held.\n"
    "Status: that of CMD, 128 + N if signal N ended it (INT and QUIT end redlatch itself), 1 not acquired in time,\n"
    "64 usage, 65 the key is something else or a semaphore that does not exist, 69 server unreachable, 70 lock lost,\n"
    "126 CMD cannot be run, 127 no such CMD.\n";

/* The library's default for the lease of its watchdog. */
enum { LEASE_DEFAULT_MS = 30000 };

/* Returns whether a program can run under this kind. It must be a kind that is held and that a name is enough for. */
static bool is_run_under(int kind) {
    return kind != REDLATCH_GROUP && kind != REDLATCH_LATCH;
}

static const struct option long_options[] = {
    {"nonblock", no_argument, NULL, 'n'},
    {"nb", no_argument, NULL, 'n'},
    {"once", no_argument, NULL, OPTION_ONCE},
    {"wait", required_argument, NULL, 'w'},
    {"timeout", required_argument, NULL, 'w'},
    {"conflict-exit-code", required_argument, NULL, 'E'},
    {"shared", no_argument, NULL, 's'},
    {"lease", required_argument, NULL, OPTION_LEASE},
    {"max-hold", required_argument, NULL, OPTION_MAX_HOLD},
    {"at-least", required_argument, NULL, OPTION_AT_LEAST},
    {"grace", required_argument, NULL, OPTION_GRACE},
    {"kind", required_argument, NULL, OPTION_KIND},
    {"permits", required_argument, NULL, OPTION_PERMITS},
    {"limit", required_argument, NULL, OPTION_LIMIT},
    {"key-template", required_argument, NULL, OPTION_KEY_TEMPLATE},
    {"label", required_argument, NULL, OPTION_LABEL},
    {"verbose", no_argument, NULL, OPTION_VERBOSE},
    {"quiet", no_argument, NULL, 'q'},
    SERVER_OPTIONS,
};

/* Stores one option. Returns false if the command is to exit with *status_out. */
static bool take_option(struct run_options *options, int letter, int *status_out) {
    *status_out = STATUS_USAGE;
    switch (letter) {
    case 'n':
        options->nonblock = true;
        return true;
    case 'w':
        return read_duration("-w", optarg, 0, SECONDS_MAX, &options->wait_ms);
    case 'E':
        return read_number("-E", optarg, 0, 255, &options->conflict_status);
    case OPTION_ONCE:
        options->once = true;
        return true;
    case 's':
        options->shared = true;
        return true;
    case OPTION_LEASE:
        return read_duration("--lease", optarg, 30, LEASE_SECONDS_MAX, &options->lease_ms);
    case OPTION_MAX_HOLD:
        return read_duration("--max-hold", optarg, 1, SECONDS_MAX, &options->max_hold_ms);
    case OPTION_AT_LEAST:
        return read_duration("--at-least", optarg, 0, SECONDS_MAX, &options->at_least_ms);
    case OPTION_GRACE:
        return read_duration("--grace", optarg, 0, SECONDS_MAX, &options->grace_ms);
    case OPTION_KIND:
        return read_kind("--kind", optarg, is_run_under, &options->kind);
    case OPTION_PERMITS:
        return read_number("--permits", optarg, 1, REDLATCH_PERMITS_MAX, &options->permits);
    case OPTION_LIMIT:
        return read_number("--limit", optarg, 1, REDLATCH_PERMITS_MAX, &options->limit);
    case OPTION_KEY_TEMPLATE:
        options->key_template = optarg;
        return true;
    case OPTION_LABEL:
        options->label = optarg;
        return true;
    case OPTION_VERBOSE:
        options->verbose = true;
        return true;
    case 'q':
        options->quiet = true;
        return true;
    default:
        return take_server_option(&options->server, letter, usage, status_out);
    }
}

/* Merges options that mean the same, and refuses them if they differ. Returns false after a complaint. */
static bool resolve_synonyms(struct run_options *options) {
    if (options->shared && options->kind && options->kind != REDLATCH_READ) {
        complain(STATUS_USAGE, "-s with --kind %s: expected one of them", kind_option(options->kind));
        return false;
    }
    if (options->nonblock && options->wait_ms != REDLATCH_FOREVER) {
        complain(STATUS_USAGE, "-n with -w %g: expected one of them", (double)options->wait_ms / 1000);
        return false;
    }
    if (options->once && options->wait_ms != REDLATCH_FOREVER) {
        complain(STATUS_USAGE, "--once with -w %g: expected one of them", (double)options->wait_ms / 1000);
        return false;
    }
    if (options->conflict_status == STATUS_DEFAULT) {
        options->conflict_status = options->once ? STATUS_GOOD : STATUS_NOT_OBTAINED;
    }
    options->quiet = options->quiet || (options->once && !options->verbose);
    options->kind = options->shared ? REDLATCH_READ : options->kind ? options->kind : REDLATCH_MUTEX;
    options->wait_ms = options->nonblock || options->once ? 0 : options->wait_ms;
    return true;
}

/* Checks the options about permits. Returns false after a complaint. */
static bool check_permits(const struct run_options *options, bool counts) {
    const char *kind = kind_option(options->kind);
    if (!counts && (options->permits || options->limit)) {
        complain(STATUS_USAGE, "%s with --kind %s: expected --kind semaphore or permit-semaphore",
                 options->permits ? "--permits" : "--limit", kind);
    } else if (options->kind == REDLATCH_PERMIT_SEMAPHORE && options->permits > REDLATCH_PERMITS_AT_ONCE_MAX) {
        complain(STATUS_USAGE, "--permits is %d: expected 1 to %d with --kind %s", options->permits,
                 REDLATCH_PERMITS_AT_ONCE_MAX, kind);
    } else if (options->limit && options->limit < options->permits) {
        complain(STATUS_USAGE, "--permits is %d, --limit %d: expected the first to be no more than the second",
                 options->permits, options->limit);
    } else if (options->kind == REDLATCH_SEMAPHORE && (options->at_least_ms || options->lease_ms)) {
        complain(STATUS_USAGE, "%s with --kind semaphore, whose permits have no lease: expected permit-semaphore",
                 options->at_least_ms ? "--at-least" : "--lease");
    } else {
        return true;
    }
    return false;
}

/* Checks the names and the key template. Returns false after a complaint. */
static bool check_names(const struct run_options *options, bool counts) {
    const char *template = options->key_template;
    const char *kind = kind_option(options->kind);
    const char *placeholder = template ? strstr(template, "{name}") : NULL;
    if (template && options->kind != REDLATCH_PLAIN) {
        complain(STATUS_USAGE, "--key-template with --kind %s: expected --kind plain", kind);
    } else if (template && (!placeholder || strstr(placeholder + 1, "{name}"))) {
        complain(STATUS_USAGE, "--key-template is '%s': expected one {name} in it", template);
    } else if (options->name_count > 1 && (counts || options->kind == REDLATCH_FAIR)) {
        complain(STATUS_USAGE, "%zu names with --kind %s: expected one", options->name_count, kind);
    } else if (options->name_count > REDLATCH_MEMBERS_MAX) {
        complain(STATUS_USAGE, "%zu names: expected at most %d", options->name_count, REDLATCH_MEMBERS_MAX);
    } else {
        return true;
    }
    return false;
}

/* Checks that the options go together. Returns false after a complaint. */
static bool go_together(const struct run_options *options) {
    bool counts = options->kind == REDLATCH_SEMAPHORE || options->kind == REDLATCH_PERMIT_SEMAPHORE;
    if (options->max_hold_ms != REDLATCH_FOREVER && options->at_least_ms > options->max_hold_ms) {
        complain(STATUS_USAGE,
                 "--at-least is %g s, --max-hold %g s: expected the first to be no longer than the second",
                 (double)options->at_least_ms / 1000, (double)options->max_hold_ms / 1000);
        return false;
    }
    return check_permits(options, counts) && check_names(options, counts);
}

/* Returns whether a word is a program that can be run: a path, or a name that is found in PATH. */
static bool is_program(const char *word) {
    if (strchr(word, '/')) {
        return access(word, X_OK) == 0;
    }
    const char *path = getenv("PATH");
    for (const char *folder = path; folder && *word;
         folder = strchr(folder, ':'), folder = folder ? folder + 1 : NULL) {
        char candidate[4096];
        int size = (int)strcspn(folder, ":");
        int needed = snprintf(candidate, sizeof candidate, "%.*s/%s", size ? size : 1, size ? folder : ".", word);
        if (needed < (int)sizeof candidate && access(candidate, X_OK) == 0) {
            return true;
        }
    }
    return false;
}

/* Takes one name and a command from operands without a --. Returns false if the first word of the command is no
 * program: that word may be a second name, or an empty variable may have moved the words. */
static bool take_without_mark(struct run_options *options, char **operands, size_t count) {
    if (count < 2 || !operands[0][0] || !is_program(operands[1])) {
        return false;
    }
    options->names = operands;
    options->name_count = 1;
    options->command = operands + 1;
    return true;
}

/* The first -- separates names and command. Behind a single name it may be left out. `begun`: a -- stood before all
 * operands, as it may. */
bool run_take_operands(struct run_options *options, char **argv) {
    char **operands = argv + optind;
    bool begun = strcmp(argv[optind - 1], "--") == 0;
    const char *command = current_command();
    size_t before = 0;
    bool empty = false;
    while (operands[before] && strcmp(operands[before], "--") != 0) {
        empty = empty || !operands[before][0];
        before++;
    }
    if (before == 0) {
        complain(STATUS_USAGE, "%s: no name of a lock: expected NAME... -- CMD", command);
        return false;
    }
    if (!operands[before] && !begun && take_without_mark(options, operands, before)) {
        return true;
    }
    if (!operands[before] && !begun && before > 1 && operands[1][0] == '-') {
        complain(STATUS_USAGE, "%s: %s behind the name '%s': expected options before it", command, operands[1],
                 operands[0]);
        return false;
    }
    if (!operands[before] && !begun && before > 1) {
        complain(STATUS_USAGE, "%s: there is no program '%s' to be run under '%s': expected NAME... -- CMD", command,
                 operands[1], operands[0]);
        return false;
    }
    if (!operands[before] && !begun) {
        complain(STATUS_USAGE, "%s: no command to be run under '%s': expected NAME -- CMD", command, operands[0]);
        return false;
    }
    if (!operands[before]) {
        complain(STATUS_USAGE, "%s: no name before --, or no -- after the name '%s': expected NAME... -- CMD", command,
                 operands[0]);
        return false;
    }
    if (empty) {
        complain(STATUS_USAGE, "%s: a name is empty: expected NAME... -- CMD, names of 1 to %d bytes", command,
                 REDLATCH_NAME_SIZE_MAX);
        return false;
    }
    options->names = operands;
    options->name_count = before;
    options->command = operands + before + 1;
    for (size_t i = 1; i < options->name_count; i++) {
        if (operands[i][0] == '-') {
            complain(STATUS_USAGE, "%s: %s among the names: expected options before them", command, operands[i]);
            return false;
        }
    }
    if (!options->command[0]) {
        complain(STATUS_USAGE, "%s: nothing after --: expected a command", command);
        return false;
    }
    if (before > 1 && is_program(operands[1]) && !is_program(options->command[0])) {
        complain(
            STATUS_USAGE,
            "%s: '%s' is a program where a name is expected, and '%s' behind -- is none: expected %s -- %s ... -- %s",
            command, operands[1], options->command[0], operands[0], operands[1], options->command[0]);
        return false;
    }
    return true;
}

bool run_read_options(struct run_options *options, int argc, char **argv, int *status_out) {
    int letter;
    while ((letter = next_option(argc, argv, "+:nw:E:squ:h", long_options, "run")) != -1) {
        if (!take_option(options, letter, status_out)) {
            return false;
        }
    }
    *status_out = STATUS_USAGE;
    return run_take_operands(options, argv) && run_check_options(options);
}

/* Makes the default lease as long as --at-least, up to a day. A process that is killed does not release its lock, so
 * its lease alone keeps the lock for --at-least. */
static void lengthen_lease(struct run_options *options) {
    int64_t lease_max_ms = (int64_t)LEASE_SECONDS_MAX * 1000;
    if (!options->lease_ms && options->at_least_ms > LEASE_DEFAULT_MS) {
        options->lease_ms = options->at_least_ms < lease_max_ms ? options->at_least_ms : lease_max_ms;
    }
}

bool run_check_options(struct run_options *options) {
    if (!resolve_synonyms(options) || !go_together(options)) {
        return false;
    }
    lengthen_lease(options);
    return true;
}
